"""What the contracts of a walk are asked with: by the reasoner, which is played here, and by people. So their terms are known.

The reasoner compares what it is told with the rows (`contract_told`), and what it decides is kept: it is what the next contracts
that its session creates are about. A person changes arguments, and nothing else. What a contract is made of never changes later.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from ..runtime.contracts.reasoner import AskPerson, CallTool, Decision, Request, Retry
from ..runtime.records import Json
from .conform_follow import Disagreement
from .contract_services import BOUND_SERVICE, Wish
from .contract_terms import LIMIT, Terms, again, amiss, changed, key_of

FIRST_WORDS: Final = "please"
"""A session's first request; each later one has a number."""


def request_id(session: str, wish: Wish) -> str:
    """The occurrence of a session's requests.

    What can be undone reserves no key, so nothing keeps two sessions from it: each such request is one of its own.
    """
    return session if wish.consent == "none" else f"request {wish.occurrence}"


class Asked:
    """What was asked for, session by session. mistold: how the reasoner of a session is told something else than is on record.

    changes: the arguments that a person puts in the place of a contract's, by that contract.
    """

    def __init__(self, mistold: Callable[[str, Request], str]) -> None:
        self.mistold = mistold
        self.wishes: dict[str, Wish] = {}
        self.known: dict[str, Terms] = {}
        self.changes: dict[str, Json] = {}
        self._decided: dict[str, tuple[Decision, int]] = {}
        self._heard: dict[str, tuple[str, int]] = {}

    def decide(self, session: str, request: Request) -> Decision:
        """What a session's reasoner wants; it counts the turns of each request from its beginning."""
        if wrong := self.mistold(session, request):
            raise Disagreement(wrong)
        text, begun = self._heard.get(session, ("", 0))
        if text != request.text:
            begun = request.turn
        self._heard[session] = request.text, begun
        decision = self.wishes[session].decide(replace(request, turn=request.turn - begun))
        self._decided[session] = decision, request.turn
        return decision

    def compare(self, boundary: str, contracts: Mapping[str, Terms], declared: bool) -> None:
        """Raise Disagreement unless each contract is made of what was asked for, and stays so.

        declared: every tool is declared irreversible, so whatever is called now is.
        """
        for name, terms in contracts.items():
            due = self.known.get(name) or self._due(boundary, name, terms, declared)
            if wrong := amiss(terms, due):
                raise Disagreement(f"{name}: the code performs {boundary}: {wrong}")
            self.known[name] = terms

    def _due(self, boundary: str, name: str, terms: Terms, declared: bool) -> Terms:
        """What a new contract has to be made of."""
        if boundary == "supersede":
            old = next(old for old in reversed(self.changes) if self.known[old].session == terms.session)
            return changed(self.known[old], old, self.changes[old])
        decision, turn = self._decided[terms.session]
        if terms.kind == "ecs_request":
            place, ask = next(
                (place, each) for place, each in enumerate(decision.actions) if isinstance(each, AskPerson)
            )
            call = [each for each, made in self.known.items() if made.session == terms.session][-1]
            return self._question(terms.session, ask, f"{turn}.{place}", call)
        wanted = decision.actions[0]
        if isinstance(wanted, Retry):
            key = self.known[wanted.execution_id].key
            return again([each for each in self.known.values() if (each.session, each.key) == (terms.session, key)][-1])
        if not isinstance(wanted, CallTool):
            raise Disagreement(f"{name}: the code performs {boundary}, and nobody has asked for a call")
        return self._call(terms.session, wanted, f"{turn}.0", declared, gated=len(decision.actions) > 1)

    def _call(self, session: str, call: CallTool, place: str, declared: bool, gated: bool) -> Terms:
        """The terms of a call. One that the session has once made irreversible stays so, whatever its tool is by now."""
        request = request_id(session, self.wishes[session])
        detail = {"service": call.service, "method": call.method, "args": call.args}
        bound = {each.key for each in self.known.values() if each.session == session and each.irreversible}
        irreversible = call.service == BOUND_SERVICE or declared or key_of(request, detail) in bound
        occurrence = request if irreversible else f"{request}/{place}"
        limit = LIMIT if call.timeout_seconds is None else call.timeout_seconds
        needs = irreversible or gated
        return Terms(session, "tool_call", detail, occurrence, irreversible, key_of(occurrence, detail), limit, needs)

    def _question(self, session: str, ask: AskPerson, place: str, call: str) -> Terms:
        """The terms of a question about a call."""
        occurrence = f"{request_id(session, self.wishes[session])}/{place}"
        detail = {"type": ask.type, "message": ask.message}
        return Terms(session, "ecs_request", detail, occurrence, False, None, ask.timeout_seconds, False, defers=call)


class Played:
    """The reasoner of one session, as a runner has it."""

    def __init__(self, asked: Asked, session: str) -> None:
        self.asked, self.session = asked, session

    def decide(self, request: Request) -> Decision:
        """See Asked.decide."""
        return self.asked.decide(self.session, request)
