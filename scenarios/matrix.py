"""What the necessity matrix says of itself, in sentences: what was searched, which mechanism is idle, which class is ambiguous.

Who computes the matrix fills in figures and keys; who audits one fills in the same, and compares.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ..model.counterparts import BY_COLUMN, COUNTERPARTS, OF_RULE
from ..model.mechanisms import AT_ONCE, NEEDED, NEEDED_BY_JOBS, ORDERS, PLANTS, RULES, TWO, missing, spoken_of
from ..model.properties import BY_ID

CLAIMS: Final[Mapping[str, int]] = {"quick": 2, "deep": 3}
"""How many claims of two workers there are at most, by profile."""
CELLS: Final[Mapping[str, tuple[int, int, int]]] = {"quick": (83, 197, 50), "deep": (99, 231, 0)}
"""How many cells of the matrix are needed, are not, and are not computed, by profile; of the others a property does not speak."""
FIRST: Final = ("4567", "5467", "6457", "7456")
"""An order for each write that may be the first one: the quick profile tries these with a lookup missing."""
LOOKUPS: Final = ("catch-up", "ledger-asked")
"""The lookups that are taken away beside an order."""
BREAKS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("4", "catch-up"): ("P3", "P4"),
    ("7", "ledger-asked"): ("P4", "P6"),
}
"""What breaks in the orders that begin with a write, without the lookup that would find it; in no other order anything does."""
BREAKS_BY_KINDS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("4", "catch-up"): ("P6",),
    ("7", "ledger-asked"): ("P7",),
}
"""And what breaks there with more kinds of tools: the deep profile searches those."""
LATER: Final = "fence-events"
"""The mechanism whose space of two workers is left to the deep profile."""
BESIDE: Final = ("P9", "P10", "P12", "P15")
"""Those that two workers are asked about in the deep profile alone."""
_NOT_TWICE: Final = ("barrier", "barrier-asked", "all-attempts", "quiet", "stable-key", "unknown", "idempotent-alone")
GIVEN: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "P1": (_NOT_TWICE,), "P2": ((*_NOT_TWICE, "rule-0"),),
    "P3": (("catch-up", "catch-up-order", "repair"), ("catch-up", "barrier", "all-attempts", "repair")),
    "P4": (("rule-0", "no-effect"),), "P6": ((*_NOT_TWICE, "catch-up", "catch-up-order", "repair"),),
    "P7": (("rule-0",), ("unknown",), ("no-effect",)), "P8": (("confirm",),), "P11": (("stable-key",),), "P14": (("barrier",),),
    "P15": (("rule-0",),),
}  # fmt: skip
"""The minimal sets of one worker's mechanisms, ledger, effect store and on-unknown being there: of each property but P15 all that
there are. They may be smaller than what the matrix has, and other ones: what makes a mechanism needed may be missing as well."""
IN_JOBS: Final[Mapping[str, tuple[str, ...]]] = {"P6": ("rule-0",)}
"""What each of these takes beside for all that may befall the step's job, such as another step's failure."""
WORSE: Final = ("P3", "P4", "P7")
"""The properties that fail with a set of these which holds a smaller one that suffices: more is worse."""
WHOLE: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "P1": (("barrier", "barrier-asked", "unknown"),), "P2": (("barrier", "barrier-asked", "unknown"),),
    "P3": (("effect-store", "catch-up", "catch-up-order", "repair"),
           ("effect-store", "catch-up", "barrier", "all-attempts", "repair"), ("effect-store", "catch-up", "repair", "unknown")),
    "P4": (("rule-0",), ("unknown",)), "P6": (("barrier", "barrier-asked", "repair", "unknown"),), "P7": ((),),
    "P8": (("confirm",),),
    "P11": (("stable-key",), ("barrier", "barrier-asked", "unknown")), "P14": (("barrier",),), "P15": (("rule-0", "on-unknown"),),
}  # fmt: skip
"""The same where these three may be missing, too: where nothing is done about an attempt in doubt nothing is executed again, and
less is needed."""
IN_JOBS_APART: Final[Mapping[str, tuple[str, ...]]] = {"P6": ("rule-0",)}
"""And what each of those takes. Without on-unknown P3 takes nothing more."""
_FENCED: Final = ("fence-events", "fence-ledger", "fence-effects", "atomic-acquire")
_BEGUN: Final = (("conditional", "checked"), ("fence-events", "checked"))
BETWEEN: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "P5": (_FENCED,), "P1": _BEGUN, "P2": (("fence-events", "fence-ledger", "checked"),),
    "P3": (_FENCED, ("fence-ledger", "fence-effects", "conditional", "checked", "atomic-acquire")), "P4": (("fence-events",),),
    "P6": (("fence-events", "fence-ledger", "checked", "atomic-acquire"),), "P7": (_FENCED,), "P8": ((),), "P11": ((),),
    "P14": _BEGUN,
}  # fmt: skip
"""The minimal sets between two workers. Where either of two is enough neither is needed by itself, as the matrix says."""
_UNDOING: Final = ("K-BARRIER", "K-COMMITTED", "K-QUIET", "K-TRUTH")
BESIDE_STEP: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "P9": (("barrier-asked", "G-ASK", "G-RECORD", "G-BIND", "G-SIGNAL", "G-CANCEL"),),
    "P10": (("catch-up-order", "barrier-asked", "repair", "quiet", "unknown", *_UNDOING, "K-RECORD", "K-TERMINAL"),),
    "P10, none set apart": (("barrier-asked", "unknown", *_UNDOING, "K-TERMINAL"),),
    "P12": (("repair", "L-RECORD", "L-INJECT", "L-CATCHUP"),), "P12, none set apart": (("L-RECORD", "L-INJECT"),),
    "P15 of a gate": (("G-DENY",),), "P15 of a compensation": (("K-BARRIER", "K-TERMINAL"),), "P15 of a recorded value": ((),),
}  # fmt: skip
"""The minimal sets of a gate, a compensation and a recorded value; where none is set apart their stores and on-unknown may be
missing, too. They are smaller than what the matrix has: what makes a rule needed may be missing as well. P15 is asked of their
rules alone."""
ALL_SETS: Final = {"P9": ("gate", True), "P10": ("compensation", True), "P10, none set apart": ("compensation", False),
                   "P12": ("recorded", True), "P12, none set apart": ("recorded", False)}  # fmt: skip
"""Of which machine each is said where all sets are answered, and whether the three that are set apart are there."""
RULE_SETS: Final = {f"P15 of a {words}": kind for words, kind in
                    (("gate", "gate"), ("compensation", "compensation"), ("recorded value", "recorded"))}  # fmt: skip
"""Of which machine's rules each is said that speaks of P15."""
UNASKED: Final = (
    "not asked: sets of mechanisms of one worker and between workers together; of P15, most sets of two and more mechanisms of"
    " one worker, sets between workers, and sets of the step's mechanisms that are a gate's, a compensation's or a"
    " recorded value's, too"
)
"""Of which sets nothing is said; decision 035 says what each would take."""
IN_QUICK: Final = ("P1",)
"""The properties whose minimal sets the quick profile computes."""
BESIDE_IN_QUICK: Final = ("P12", "P12, none set apart")
"""And those of the machines beside the step's: of the smallest one."""


def bounds(profile: str) -> list[str]:
    """What was searched, in sentences."""
    step_alone = (
        "the step's own execution, with three kinds of tool (fail; query, a quiet look; re-executed, idempotent)"
    )
    one = step_alone if profile == "quick" else "all that may befall a step's job, with every kind of tool"
    return [
        f"Mechanisms of one worker: every reachable state and step of {one}, any number of crashes and attempts.",
        "Beside the step, in each profile: every reachable state and step of a gate, a compensation and a recorded value, one"
        " worker, any number of crashes; without each of their rules, and each mechanism of the step's that is theirs, too."
        " P15 is asked of their rules alone, in the deep profile.",
        f"Mechanisms between workers: two workers, at most {CLAIMS[profile]} claims in all, any number of crashes, a tool that"
        " parks; P15, in the deep profile, with any number of claims.",
        "Minimal sets of the step's mechanisms, in each profile: all sets are asked of the step's own execution, with three kinds"
        " of tool (fail; query, a quiet look; re-executed, idempotent; without idempotent-alone also re-executed, any)."
        + (
            " Each that is minimal is asked of all that may befall the step's job, with every kind of tool, too."
            * (profile == "deep")
        ),
        "Orders of the writes and P15 in the quick profile: one kind of tool (query, a quiet look).",
    ]


def beside_step(profile: str) -> tuple[str, ...]:
    """Of what the minimal sets of the machines beside the step's are computed."""
    return BESIDE_IN_QUICK if profile == "quick" else tuple(BESIDE_STEP)


def orders(profile: str) -> list[str]:
    """The choices of an order, each with every lookup and without one, as the matrix calls them."""
    alone = [f"order-{order}" for order in (*ORDERS, AT_ONCE)]
    return alone + [
        f"order-{order} without {missed}" for order in (FIRST if profile == "quick" else ORDERS) for missed in LOOKUPS
    ]


def broken(order: str, profile: str) -> set[str]:
    """The properties that fail in a choice of an order, as the matrix calls it."""
    name, _, missed = order.removeprefix("order-").partition(" without ")
    return {
        each
        for said in ((BREAKS, BREAKS_BY_KINDS) if profile == "deep" else (BREAKS,))
        for each in said.get((name[0], missed), ())
    }


def answer(prop: str, mechanism: str, profile: str) -> str:
    """What the matrix says of a property and a mechanism: needed or not, where it is asked in a profile."""
    if prop == "P13" or (mechanism not in TWO and not _speaks_of(prop, mechanism)):
        return "not applicable"
    later = (mechanism in TWO and (mechanism == LATER or prop in BESIDE)) or (mechanism in RULES and prop == "P15")
    if later and profile == "quick":
        return "not checked"
    more = NEEDED_BY_JOBS.get(mechanism, ()) if profile == "deep" else ()
    return "needed" if prop in (*NEEDED[mechanism], *more) else "not needed"


def _speaks_of(prop: str, mechanism: str) -> bool:
    """Whether a property says anything of a mechanism of one worker: of the step's, or of a machine beside it."""
    if mechanism in RULES:
        return prop == "P15" or (prop in BY_COLUMN and BY_COLUMN[prop].kind == OF_RULE[mechanism])
    if prop in BY_COLUMN:
        return mechanism in COUNTERPARTS[BY_COLUMN[prop].kind]
    return prop != "P5" and (prop not in BY_ID or spoken_of(BY_ID[prop], missing([mechanism])) is not None)


def idle(mechanism: str, fails: Mapping[str, str], kept: Sequence[str]) -> str:
    """That nothing breaks without a mechanism; and, where a change is planted against which it protects, what does.

    fails: the properties that break without it then, each with the key of a run; kept: those that break with it as well.
    """
    said = f"nothing breaks without {mechanism}, all other mechanisms being there"
    if mechanism not in PLANTS:
        return said
    names = ", ".join(f"{name} (crashwindow replay {key})" for name, key in fails.items())
    with_it = f"{', '.join(kept)} fails with it as well" if kept else "with it nothing does"
    return f"{said}; it protects where {PLANTS[mechanism][0]}: without it {names or 'nothing'} fails, {with_it}"


def ambiguous(observations: int, inside: int, twin: str, told_apart: int) -> str:
    """That the class is exactly as stated. twin: the key of a run to a state that looks like the end of the item's own trace."""
    return (
        f"of {observations} observations at which a recovery has to decide, {inside} are ambiguous:"
        " those of windows 1c (which 2 and 2x share) and 2u of tools that are not idempotent. At each, every recovery that"
        " executes doubles the effect in one reachable state, and every one that does not loses it in another; at all others"
        f" one is right. The trace leads to a state where it doubles, `crashwindow replay {twin}` to its twin where it"
        f" loses. Where a tool that fences is looked at, {told_apart} are told apart, and leave the class"
    )


def solved(inside: int, steps: int, clauses: int, questions: int) -> str:
    """That a solver has proved the class of the machine's own rows. steps: how many different ones the runs to its looks have,
    their starts with them.
    """
    return (
        f"by an invariant of {clauses} clauses, which is inductive, for any number of attempts, requests and crashes: no two"
        " states outside the class in which a recovery sees the same need opposite answers, nor where a tool that fences is"
        f" looked at; and each state of the class looks like one of {inside} in which two runs end, one where to execute doubles"
        " the effect, and one where not to execute loses it. A search has given these runs; that their starts and their steps"
        f" are the machine's, {steps} different ones, is asked, and how one follows another is worked out. Of a count two and"
        f" more look the same. {questions} questions"
    )
