"""Sessions of execution contracts that are crashed, as data: what the user says, the reasoner decides, people do."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import ClassVar, Final

from ..runtime.contracts.reasoner import AskPerson, CallTool, Decision, Retry
from ..runtime.sqlite_store import SqliteStore
from ..runtime.tool import Tool
from . import contract_judge
from . import contract_world as world_of
from .contract_life import ContractLife, Meanwhile, Said, Script
from .contract_world import METHOD, SERVICE, mail_tool
from .crash_subject import Setting
from .crash_turns import QUIET
from .crash_witness import Witnessed, World


@dataclass(frozen=True)
class ContractCase:
    """A script, in a world that behaves as `world` says. What comes of it is in `scenarios/contracts.yaml`.

    whole: whether the quick profile strikes the boundaries inside the durable step, too. Where it does not, another case with
    the same world does: there only what happens before and after the execution is new. undone: see `Subject`. retries: of the
    tool, within one contract. modelled: whether its runs are ones of the contract's machine; a program of its own may write
    what no machine has.
    """

    name: str
    title: str
    script: Script
    world: world_of.Script = ("ok",)
    whole: bool = True
    undone: tuple[str, ...] = ()
    irreversible: bool = True
    retries: int = 0
    later: float = 1.0 + QUIET
    modelled: bool = True
    court: ClassVar[ModuleType] = contract_judge

    def begin(self, store: SqliteStore) -> None:
        """An empty store: the first session is opened by the first life."""

    def prepare(self, world: World) -> None:
        """The witness needs nothing."""

    def tools(self, world: World, setting: Setting) -> Mapping[str, Tool]:
        """The one tool."""
        tool = mail_tool(self.world, world, setting.clock.sleep, self.irreversible, self.retries)
        return {tool.name: tool}

    def serve(self, setting: Setting) -> None:
        """One life."""
        world = setting.world
        ContractLife(self.script, self.tools(world, setting), lambda: self.witnessed(world), setting).live()

    def witnessed(self, world: World) -> Witnessed:
        """The lines of the witness."""
        return world_of.witnessed(world)


MAIL: Final = {"to": "bob@example.com", "subject": "Invitation", "body": "Meeting on Monday at ten."}
CHANGED: Final = {**MAIL, "subject": "Invitation (moved)"}
SEND: Final = CallTool(service=SERVICE, method=METHOD, args=MAIL)
SLOWLY: Final = SEND.model_copy(update={"timeout_seconds": 10.0})
ASK: Final = AskPerson(message="Send the invitation to bob@example.com?", defers=0)
ASK_BRIEFLY: Final = ASK.model_copy(update={"timeout_seconds": 60.0})
ASKED: Final = Decision(actions=(SEND, ASK))
UNASKED: Final = Decision(actions=(SEND,))
REPLY: Final = Decision(reply="{seen}")
RETRY: Final = Decision(actions=(Retry(execution_id="exec-001"), ASK))
RETRY_AT_ONCE: Final = Decision(actions=(Retry(execution_id="exec-001"),))
TEXT: Final = "Send bob@example.com an invitation to the meeting"
FIRST: Final = Said("mail", TEXT, "invitation")
AGAIN: Final = Said("mail", "Try again", "second thoughts")
MONDAY: Final = FIRST._replace(session="monday")
TUESDAY: Final = Said("tuesday", "Send the invitation, please", "invitation")


def one(*decisions: Decision, requests: tuple[Said, ...] = (FIRST,), **more: object) -> Script:
    """A script with one session."""
    return Script(requests, {FIRST.session: decisions}, **more)  # type: ignore[arg-type]  # `more` names fields of a script


def two(tuesday: Said, **more: object) -> Script:
    """A script with two sessions, of which each decides to send."""
    return Script((MONDAY, tuesday), {"monday": (UNASKED,), "tuesday": (UNASKED,)}, **more)  # type: ignore[arg-type]  # `more` names fields of a script


CONTRACT_CASES: Final = {
    case.name: case
    for case in (
        ContractCase(
            "contract-worked-example",
            "An irreversible e-mail is confirmed, sent and reported",
            one(ASKED, REPLY),
        ),
        ContractCase(
            "contract-consent",
            "The tool contract itself waits for consent, and is resumed to its executor",
            one(UNASKED, REPLY),
        ),
        ContractCase(
            "contract-smtp-refused",
            "The server refuses; the user tries again, with a new contract and the same key",
            one(ASKED, REPLY, RETRY, REPLY, requests=(FIRST, AGAIN)),
            world=("no_effect", "ok"),
        ),
        ContractCase(
            "contract-retry-approved",
            "The approval covers a retry after a proven no-effect: nobody is asked twice",
            one(
                UNASKED,
                RETRY_AT_ONCE,
                REPLY,
                words=("approve with retries",),
            ),
            world=("no_effect", "ok"),
            whole=False,
        ),
        ContractCase(
            "contract-superseded-retried",
            "Approved with retries, superseded before it starts, and retried: the old approval does not come back",
            one(
                ASKED,
                RETRY_AT_ONCE,
                REPLY,
                words=("approve with retries", "cancel", "deny"),
                meanwhile=Meanwhile("move", "change before start"),
                changed=CHANGED,
            ),
            undone=("supersede:down",),
            whole=False,
        ),
        ContractCase(
            "contract-cancelled-retried",
            "Approved with retries, cancelled before it starts, and retried: a person is asked anew",
            one(
                ASKED,
                RETRY_AT_ONCE,
                REPLY,
                words=("approve with retries", "deny"),
                meanwhile=Meanwhile("move", "cancel before start"),
            ),
            whole=False,
        ),
        ContractCase(
            "contract-denied-retried",
            "A call that can be undone is denied, and retried: the retry is refused",
            one(ASKED, RETRY_AT_ONCE, REPLY, words=("deny",)),
            whole=False,
            irreversible=False,
        ),
        ContractCase(
            "contract-gated-retried",
            "A call that can be undone fails under an approval for one run, and is retried: a person is asked anew",
            one(ASKED, RETRY_AT_ONCE, REPLY, words=("approve", "deny")),
            world=("no_effect", "ok"),
            whole=False,
            irreversible=False,
        ),
        ContractCase(
            "contract-failed-named-again",
            "A call that can be undone fails, its retry is done, and the reasoner names the failed one again: refused",
            one(UNASKED, RETRY_AT_ONCE, RETRY_AT_ONCE, REPLY),
            world=("no_effect", "ok"),
            whole=False,
            irreversible=False,
        ),
        ContractCase(
            "contract-denied",
            "A person says no: request and e-mail are rejected in one write",
            one(ASKED, REPLY, words=("deny",)),
        ),
        ContractCase(
            "contract-denied-reopened",
            "A rejected key admits no contract until a person reopens it",
            one(
                UNASKED,
                REPLY,
                UNASKED,
                REPLY,
                UNASKED,
                REPLY,
                requests=(
                    FIRST,
                    FIRST._replace(text="Send it all the same"),
                    FIRST._replace(text="Now it may be sent", reopens=True),
                ),
                words=("deny", "approve"),
            ),
            whole=False,
        ),
        ContractCase(
            "contract-cancelled",
            "A person takes the question back",
            one(ASKED, REPLY, words=("cancel",)),
        ),
        ContractCase(
            "contract-answered-twice",
            "Two people answer at once: the first answer stands, the second is refused",
            one(ASKED, REPLY, meanwhile=Meanwhile("answer", "deny")),
        ),
        ContractCase(
            "contract-continued-twice",
            "Two continue the session at once: one of them runs the graph",
            one(ASKED, REPLY, meanwhile=Meanwhile("release", "continue")),
            whole=False,
        ),
        ContractCase(
            "contract-consent-twice",
            "Two resume the waiting e-mail at once: it is executed once",
            one(UNASKED, REPLY, meanwhile=Meanwhile("release", "continue")),
            whole=False,
        ),
        ContractCase(
            "contract-arguments-changed",
            "After the approval the arguments change: what is sent is what was approved anew",
            one(ASKED, REPLY, meanwhile=Meanwhile("release", "change"), changed=CHANGED),
            whole=False,
            undone=("supersede:down",),
        ),
        ContractCase(
            "contract-timeout-waiting",
            "Nobody answers in time: request and e-mail are cancelled",
            one(Decision(actions=(SEND, ASK_BRIEFLY)), REPLY, words=("silence",)),
        ),
        ContractCase(
            "contract-timeout-after-effect",
            "The clock strikes after the effect and before its record: unknown, until the executor's late proof",
            one(Decision(actions=(SLOWLY, ASK)), REPLY, meanwhile=Meanwhile("put_effect", "clock")),
            world=("slow",),
            undone=("move#3:down",),
        ),
        ContractCase(
            "contract-lost-answer",
            "The effect's answer is lost: unknown, until a person finds the e-mail",
            one(ASKED, REPLY),
            world=("lost_answer",),
        ),
        ContractCase(
            "contract-no-answer",
            "No answer and no effect: unknown, until a person finds nothing; then a retry is allowed",
            one(UNASKED, RETRY_AT_ONCE, REPLY, words=("approve with retries",)),
            world=("no_answer", "ok"),
        ),
        ContractCase(
            "contract-two-words",
            "One person finds no e-mail before the contract is in doubt; it is sent, its answer is lost, and another finds it",
            one(ASKED, REPLY, meanwhile=Meanwhile("load_step", "resolve")),
            world=("no_answer", "lost_answer"),
            whole=False,
            retries=1,
        ),
        ContractCase(
            "contract-asked-again",
            "A program takes the answer, and asks again before it releases anything: the old answer is not taken twice",
            one(ASKED, REPLY, meanwhile=Meanwhile("release", "ask again")),
            whole=False,
            modelled=False,
        ),
        ContractCase(
            "contract-one-key-twice",
            "Two sessions with one occurrence create the same contract at once: one is refused, and told of the other",
            two(TUESDAY, meanwhile=Meanwhile("create_contracts", "open")),
            whole=False,
        ),
        ContractCase(
            "contract-repeat-in-doubt",
            "The same occurrence in a later session, while nobody knows what became of the first: refused",
            two(TUESDAY, meanwhile=Meanwhile("resolve", "open")),
            world=("lost_answer", "ok"),
            whole=False,
        ),
        ContractCase(
            "contract-timeout-repeat",
            "The clock strikes after the effect and before its record; the same occurrence in a later session is refused",
            replace(
                two(TUESDAY, meanwhile=Meanwhile("put_effect", "clock")),
                decisions={"monday": (Decision(actions=(SLOWLY,)),), "tuesday": (UNASKED,)},
            ),
            world=("slow", "ok"),
            whole=False,
            undone=("move#2:down",),
        ),
        ContractCase(
            "contract-repeat",
            "The same occurrence in a later session: refused, with the recorded result",
            two(TUESDAY),
            whole=False,
        ),
        ContractCase(
            "contract-new-occurrence",
            "The same e-mail as a new occurrence: it asks, and names the first",
            two(TUESDAY._replace(request_id="the invitation of tuesday")),
            whole=False,
        ),
    )
}
