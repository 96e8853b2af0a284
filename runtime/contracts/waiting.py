"""What waits for a person, as people are shown it: one definition for the command line, the page and its stream of events.

Everything is read from the store, so nobody is told of a question before it is durable (C-NODES). Redacted as `views` says.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ...model.contract import Status
from ..records import Json
from ..resolve import ResolveError, question
from ..store import Store
from .commands import ContractPorts
from .form import doubt, form, released
from .records import ExecutionContract
from .step import job_id, word_of
from .store import ContractStore, GivenAnswer


@dataclass(frozen=True)
class Question:
    """A contract that waits for an answer. form: what an answer has to bear (`form.form`). since: seconds since the epoch.

    asked_for: the user's request that led to it. answer: one that was given and not taken yet. earlier: the execution of the
    same action that an approval has to name now (C-ONCE).
    """

    form: dict[str, Json]
    since: float
    asked_for: str
    answer: GivenAnswer | None = None
    earlier: ExecutionContract | None = None

    @property
    def execution_id(self) -> str:
        """The contract that is answered."""
        return str(self.form["execution_id"])


@dataclass(frozen=True)
class Doubt:
    """A contract whose outcome nobody knows. doubt: `form.doubt`. since: seconds since the epoch.

    final_from: from when on "it did not happen" can be said (T-QUIET); None when its step does not wait for a person's word, and
    the session's runner settles it. word: what a person has said already (`word_given`); then its session is to be continued.
    """

    doubt: dict[str, Json]
    since: float
    final_from: float | None = None
    word: str = ""

    @property
    def execution_id(self) -> str:
        """The contract that is spoken of."""
        return str(self.doubt["execution_id"])


def asks_for_data(form: Mapping[str, Json]) -> bool:
    """Whether a question wants more than yes or no."""
    return form["action"] is None and form["type"] != "confirmation"


def questions(store: ContractStore) -> list[Question]:
    """Every contract that waits for a person, oldest first."""
    return [_question(store, contract) for contract in store.contracts(None, Status.WAITING)]


def doubts(ports: ContractPorts) -> list[Doubt]:
    """Every contract whose outcome is not known, oldest first."""
    return [
        Doubt(
            doubt(each),
            each.updated_at,
            final_from(ports.store, each.execution_id),
            word_given(ports.store, each.execution_id),
        )
        for each in ports.contracts.contracts(None, Status.UNKNOWN)
    ]


def final_from(store: Store, execution_id: str) -> float | None:
    """When "it did not happen" becomes final for a contract's step that is parked; None when it is not parked."""
    try:
        return question(job_id(execution_id), store.events(job_id(execution_id))).quiet_until
    except (ResolveError, KeyError):
        return None


def word_given(store: Store, execution_id: str) -> str:
    """The word of a person about a contract's step that is parked no more, in a few words; empty where there is none."""
    try:
        events = store.events(job_id(execution_id))
    except KeyError:
        return ""
    said = word_of(events)
    if not said or final_from(store, execution_id) is not None:
        return ""
    return f"{'happened' if said['answer'] == 'happened' else 'did not happen'}, said {said['who']}"


def done_before(earlier: ExecutionContract) -> str:
    """What is said of the execution that an approval has to name, by how it stands."""
    match earlier.status:
        case Status.COMPLETED:
            return "was done before"
        case Status.UNKNOWN:
            return "may have been done before"
        case _:
            return "is approved already"


def waits_for(
    contract: ExecutionContract, answer: GivenAnswer | None, deferred_by: Mapping[str, str], word: str = ""
) -> str:
    """What has to come before a contract goes on, in a few words; nothing for one that has ended.

    deferred_by: the living request of each contract that one defers. word: see `word_given`.
    """
    match contract.status:
        case Status.WAITING if answer is not None and answer.version == contract.version:
            return f"its session to be continued ({answer.decision} by {answer.by})"
        case Status.WAITING if contract.lets_run or contract.defers is not None:
            return "a person's approval"
        case Status.WAITING:
            return "a person's answer"
        case Status.UNKNOWN if word:
            return f"its session to be continued ({word})"
        case Status.UNKNOWN:
            return "a word whether it happened"
        case Status.PENDING if contract.execution_id in deferred_by:
            return f"the answer to {deferred_by[contract.execution_id]}"
        case Status.PENDING | Status.RUNNING:
            return "its session's runner"
        case _:
            return ""


def _question(store: ContractStore, contract: ExecutionContract) -> Question:
    deferred = {} if contract.defers is None else {contract.defers: store.contract(contract.defers)}
    action = released(contract, deferred)
    given = store.given(contract.execution_id)
    again = None if action is None else store.again(action.execution_id)
    state = store.state(contract.session_id)
    return Question(
        form=form(contract, action, again),
        since=contract.updated_at,
        asked_for="" if state is None else state.request,
        answer=given if given is not None and given.version == contract.version else None,
        earlier=None if again is None else store.contract(again),
    )
