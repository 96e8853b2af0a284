"""The contracts' walk: Hypothesis drives real sessions on a real SQLite file, and the contract's machine beside them (E-TRUST).

Few coarse rules, as in `conform`: a session begins, a runner goes on, a person answers, cancels, changes the arguments, reopens
or resolves, time passes; each of them can be struck at a boundary. What is compared, and where, is the rig's business. A rule
prefers a session in which it can do something; where there is none it is refused, and then nothing may have changed.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, get_args

from hypothesis import seed
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ..model.contract_machine import build_contract
from .conform import JSON, WORDS, EnoughError, Profile, Progress, WrittenWalk, chosen, led
from .conform_calls import ERRORS
from .conform_world import CONTRACTS, Says
from .contract_follow import ContractModel
from .contract_rig import ContractRig, Edge, Strike
from .contract_services import PATIENCE, Behaviour, Does, Wish
from .walk_profiles import BY_NAME, PROFILES

BOUNDS: Final = {name: PROFILES[of].contract for name, of in BY_NAME.items()}
MOST_SESSIONS: Final = 4
"""Enough for a race for a key, a repeat, and an unrelated contract."""
MOST_BOUNDARIES: Final = 30
"""Positions at which an action is struck: most have fewer commands."""

ASKED: Final = ("waiting", "pending")
"""Where somebody may be asked: the contract itself, or the request that defers it."""
NUMBERS: Final = st.integers(0, MOST_SESSIONS - 1)
SAYING: Final = ("no effect", "lost answer", "lost refusal", "on the wire")
"""What a call does whose error says something."""
BEHAVIOURS: Final[st.SearchStrategy[list[Does]]] = st.lists(
    st.sampled_from(get_args(Behaviour))
    | st.builds(Says, st.sampled_from(SAYING), st.sampled_from(tuple(ERRORS)), WORDS),
    max_size=2,
)
POSITIONS: Final = st.integers(0, MOST_BOUNDARIES - 1)
STRIKES: Final[st.SearchStrategy[dict[int, Strike]]] = st.dictionaries(
    POSITIONS, st.sampled_from(get_args(Strike)), max_size=2
)
YES: Final = st.sampled_from([True, False])
EARLY: Final[st.SearchStrategy[dict[int, Strike]]] = st.dictionaries(
    st.integers(0, 2), st.sampled_from(get_args(Strike)), max_size=1
)
"""Strikes at what a person does, which is a command or two."""
LIMITS: Final = st.sampled_from([None, 10.0, 10 * PATIENCE])
"""Time limits of calls: the one that is taken where none is given, a shorter one, and one that outlasts the wait for people."""
WISHES: Final = st.builds(
    Wish,
    st.sampled_from(["none", "before", "during"]),
    st.sampled_from(CONTRACTS),
    occurrence=st.integers(0, 1),
    argument=st.integers(0, 1),
    retries=st.integers(0, 1),
    oldest=st.booleans(),
    result=JSON,
    limit=LIMITS,
)


class ContractRecord(Progress):
    """What the examples of one walk add up to."""

    def __init__(self, steered: bool = False) -> None:
        super().__init__(steered)
        self.model = ContractModel(build_contract())
        self.edges: Counter[Edge] = Counter()
        self.ends: Counter[str] = Counter()


class ContractWalk(WrittenWalk):
    """Machine and SQLite runtime in lockstep."""

    record: ContractRecord

    def __init__(self) -> None:
        super().__init__()
        self.rig = ContractRig(Path(self.folder.name), self.record.model)

    def do(self, call: Callable[..., object], *arguments: object) -> object:
        """The same, and how it ended."""
        end = super().do(call, *arguments)
        self.record.ends[str(end)] += 1
        return end

    def teardown(self) -> None:
        """Say what this history came to, close and remove the files."""
        self.record.came_to(set(self.rig.edges))
        self.record.edges.update(self.rig.edges)
        self.rig.close()
        self.folder.cleanup()

    @precondition(lambda self: len(self.rig.sessions) < MOST_SESSIONS)
    @rule(wish=WISHES, behaviours=BEHAVIOURS, strikes=STRIKES)
    def open(self, wish: Wish, behaviours: list[Does], strikes: dict[int, Strike]) -> None:
        """A session begins: with a key of its own, or with that of another session."""
        self.do(self.rig.open, wish, behaviours, strikes)

    @precondition(lambda self: self.rig.sessions)
    @rule(number=NUMBERS, behaviours=BEHAVIOURS, strikes=STRIKES, declared_late=st.booleans())
    def advance(self, number: int, behaviours: list[Does], strikes: dict[int, Strike], declared_late: bool) -> None:
        """A runner goes on with a session: what an earlier one left is recovered."""
        found = self.rig.among(number, ("pending", "running", "unknown"))
        self.do(self.rig.advance, number if found is None else found, behaviours, strikes, declared_late)

    @precondition(lambda self: self.rig.sessions)
    @rule(number=NUMBERS, behaviours=BEHAVIOURS, strikes=STRIKES)
    def say(self, number: int, behaviours: list[Does], strikes: dict[int, Strike]) -> None:
        """The user's next request in a session."""
        self.do(self.rig.say, number, behaviours, strikes)

    @precondition(lambda self: self.rig.followers)
    @rule(number=NUMBERS, yes=YES, strikes=EARLY, behaviours=BEHAVIOURS, then=STRIKES)
    def answer(
        self, number: int, yes: bool, strikes: dict[int, Strike], behaviours: list[Does], then: dict[int, Strike]
    ) -> None:
        """A person says yes or no, and a runner takes the answer; where there is one already both are refused."""
        found = self.rig.among(number, ASKED)
        self.do(self.rig.respond, found, yes, strikes)
        self.do(self.rig.resume, found, behaviours, then)

    @precondition(lambda self: self.rig.followers)
    @rule(number=NUMBERS, yes=YES, strikes=EARLY)
    def respond(self, number: int, yes: bool, strikes: dict[int, Strike]) -> None:
        """A person says yes or no, and nobody takes the answer yet."""
        self.do(self.rig.respond, self.rig.among(number, ASKED), yes, strikes)

    @precondition(lambda self: self.rig.followers)
    @rule(number=NUMBERS, behaviours=BEHAVIOURS, strikes=STRIKES)
    def resume(self, number: int, behaviours: list[Does], strikes: dict[int, Strike]) -> None:
        """A runner takes an answer; where there is none it is refused."""
        self.do(self.rig.resume, self.rig.among(number, ASKED), behaviours, strikes)

    @precondition(lambda self: self.rig.followers)
    @rule(number=NUMBERS, strikes=EARLY)
    def cancel(self, number: int, strikes: dict[int, Strike]) -> None:
        """A person takes a contract back."""
        self.do(self.rig.cancel, self.rig.among(number, ("running", "waiting", "pending")), strikes)

    @precondition(lambda self: self.rig.followers)
    @rule(number=NUMBERS, argument=st.integers(0, 2), strikes=EARLY)
    def supersede(self, number: int, argument: int, strikes: dict[int, Strike]) -> None:
        """The arguments change."""
        self.do(self.rig.supersede, self.rig.among(number, ASKED), argument, strikes)

    @precondition(lambda self: self.rig.followers)
    @rule(number=NUMBERS, strikes=EARLY)
    def reopen(self, number: int, strikes: dict[int, Strike]) -> None:
        """A person releases a rejected key."""
        self.do(self.rig.reopen, self.rig.among(number, ("rejected",)), strikes)

    @precondition(lambda self: self.rig.followers)
    @rule(number=NUMBERS, late_requests_arrive=st.booleans(), strikes=EARLY, behaviours=BEHAVIOURS, then=STRIKES)
    def resolve(
        self,
        number: int,
        late_requests_arrive: bool,
        strikes: dict[int, Strike],
        behaviours: list[Does],
        then: dict[int, Strike],
    ) -> None:
        """A truthful person says whether it happened, and a runner goes on from that."""
        found = self.rig.among(number, ("unknown",))
        self.do(self.rig.resolve, found, late_requests_arrive, strikes)
        self.do(self.rig.advance, found, behaviours, then)

    @precondition(lambda self: self.rig.sessions)
    @rule(late_requests_arrive=st.booleans(), strikes=EARLY)
    def wait(self, late_requests_arrive: bool, strikes: dict[int, Strike]) -> None:
        """Every time limit is over."""
        self.do(self.rig.wait, late_requests_arrive, strikes)

    @precondition(lambda self: self.rig.services.on_the_wire())
    @rule(arrives=st.booleans())
    def late_request(self, arrives: bool) -> None:
        """A request whose sender is gone arrives, or is lost."""
        self.do(self.rig.late, arrives)


def walk_contracts(profile: Profile, number: int) -> ContractRecord:
    """Walk with a seed; a disagreement is in the record, shrunk, as the program that shows it."""
    of = PROFILES[BY_NAME[profile]]
    record = ContractRecord(of.steered)
    bound: type[ContractWalk] = seed(number)(type("ContractWalk", (ContractWalk,), {"record": record}))
    try:
        led(bound, chosen(BOUNDS[profile], of))
    except (Exception, EnoughError):
        # Hypothesis says in several ways that it has found, or was kept from shrinking, what the record holds by now.
        if record.failure is None:
            raise
    return record
