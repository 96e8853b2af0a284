"""The stage of `crashwindow verify` that looks at the health of proofs."""

from typing import TYPE_CHECKING, Final

from ..model.claims import CLAIMS
from ..model.fleet_claims import FLEET
from .evidence import Item, Verdict
from .proofs import FLEETS, NAMES
from .verify import Context, Found, Stage

if TYPE_CHECKING:
    from .prove_health import Health

COMMAND: Final = "crashwindow prove --health"
QUICK: Final = ("recorded-hardened",)
"""The proofs that the quick profile looks at, each with two seeds."""
PROVED: Final = tuple(claim for claim in CLAIMS if claim.inductive)


def health(context: Context) -> Found:
    """The health of each proof, beside the claims that rest on it: a few in the quick profile, all in the deep one."""
    from .prove_asked import questions
    from .prove_health import SEEDS, examine
    from .prove_reached import reached

    found = Found()
    deep = context.profile == "deep"
    for name in NAMES if deep else QUICK:
        fired = reached(name, context.spaces)
        told = examine(questions(name), fired, SEEDS if deep else SEEDS[:2], tell=context.tell)
        policy = FLEET if name in FLEETS[:-1] else name
        for claim in (c for c in PROVED if c.policy == policy):
            found.add(claim.id, to_item(told))
    return found


def to_item(told: "Health") -> Item:
    """What was found out, as evidence: TESTED, or ERROR where anything is wrong."""
    least, most = told.units[1:]
    figures: dict[str, int | float | str] = {
        "obligations": told.obligations,
        "clauses": told.clauses,
        "seeds": told.seeds,
        "rlimit": told.units[0],
        "least rlimit": least,
        "most rlimit": most,
    }
    if told.problems:
        said = f"the proof {told.name} is not healthy: {'; '.join(told.problems[:3])}"
        return Item(checker="prove", verdict=Verdict.ERROR, statement=said, figures=figures, command=COMMAND)
    said = (
        f"the proof {told.name} says something: what it assumes can hold, what it speaks of can occur, each of its rows can fire"
        f" in a state of the invariant but {len(told.silent)} of which it is said why{_reached(told)}, each of its clauses and of"
        f" its assumptions of plans is used by some answer, if only to keep itself, but {len(told.unused)}"
        f"{': ' if told.unused else ''}{'; '.join(told.reported)};"
        f" {told.seeds} other seeds, with other names and in another order, change no answer"
    )
    return Item(checker="prove", verdict=Verdict.TESTED, statement=said, figures=figures, command=COMMAND)


def _reached(told: "Health") -> str:
    """Whether the other rows fire in states that are reached."""
    from .prove_reached import CLAIMS

    but = f", but for {len(told.unreached)} that are named" if told.unreached else ""
    who = f" by two workers, in {CLAIMS} claims where nothing is reduced," if told.name in FLEETS else ""
    return f", each other in a state that is reached{who}{but}"


HEALTH: Final = Stage(
    "health", "proof health: nothing vacuous, nothing idle, nothing unstable", health,
    tuple(dict.fromkeys(c.id for c in PROVED if c.policy in QUICK)), "prove",
)  # fmt: skip
