"""The irreducible ambiguity class, as a theorem over all deterministic recoveries (T-WINDOW).

A recovery that reads the stores alone is a function: of what it can observe (the tool's declaration, every durable field, the
clock) to yes, execute, or no. An observation is *made in* each reachable state without a worker that looks like that, with an
open job whose step is not decided. In such a state

- to execute is wrong if the effect is there, or may still come (a request is on the wire): it would happen twice, unless the
  tool recognises the repeat (idempotent, under a stable key);
- not to execute is wrong if the effect is not there: it is lost, if nothing comes any more.

The theorem. (1) At each observation of the class every function is wrong in a state in which that observation is made: one that
executes in one, one that does not in another. (2) At every other observation there is an answer that is right in all states in
which it is made, so the function made of these answers is right at all of them at once: the class is exactly that.

Reachable is what the hardened machine reaches. Observations that are made after a first crash, before anything was
recovered, every recovery comes to, whatever it writes: there (1) is said of all of them. What the hardened recovery's own
writes make (2u with an UNKNOWN of its own), and (2), is said of recoveries in that machine.

A function answers for each observation by itself, and there are two answers: both are tried at every observation that there is.
`prove_ambiguity.py` has a solver prove the class of the machine's rows, without what is classified here.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ..model.machine import Scope, guard
from ..model.windows import BLANK
from .explore import Space
from .windows import class_of

Look = Callable[[dict[str, str]], str]
"""What may be observed beside the stores: a word about a state."""

UNDECIDED: Final = guard(at="idle", job="open", **{**BLANK, "effect": "none"})
"""Where a recovery has something to decide: no worker, an open job, no result anywhere, and no end of the step."""
READABLE: Final = (Scope.CONFIG, Scope.DURABLE, Scope.CLOCK)


@dataclass(frozen=True)
class Observation:
    """What a recovery sees: a state in which to execute is wrong, if there is one, and one in which not to execute is."""

    seen: tuple[int, str]
    window: str
    repeats: int | None
    loses: int | None

    @property
    def wrong(self) -> tuple[bool, bool]:
        """Whether the answers no and yes are wrong in some state."""
        return self.loses is not None, self.repeats is not None

    @property
    def ambiguous(self) -> bool:
        """Whether every function is wrong here."""
        return all(self.wrong)


def nothing(view: dict[str, str]) -> str:
    """The stores alone."""
    return ""


def fenced_look(view: dict[str, str]) -> str:
    """A look at a tool that fences: whether the effect is there, nothing older being able to come after it."""
    return view["effects"] if view["look"] == "fence" else ""


def undecided(space: Space) -> list[tuple[int, dict[str, str]]]:
    """The states in which a recovery has something to decide: the nearest of each that look alike, with its fields."""
    packing = space.packing
    matters = packing.mask([*(f.name for f in space.machine.fields if f.scope in READABLE), "effects", "wire"])
    alike: dict[int, int] = {}
    for state in filter(packing.matcher(UNDECIDED), space.states):  # breadth first: the nearest come first
        alike.setdefault(state & matters, state)
    return [(state, space.machine.view(packing.unpack(state))) for state in alike.values()]


def observations(
    space: Space, look: Look = nothing, among: Sequence[tuple[int, dict[str, str]]] | None = None
) -> list[Observation]:
    """Every observation at which there is something to decide, in the order in which they are first made.

    look: what is observed beside the stores. Of a look that fences, no request that it bars is counted as one that may come.
    among: the states that are `undecided`, where they are known.
    """
    readable = space.packing.mask(f.name for f in space.machine.fields if f.scope in READABLE)
    made: dict[tuple[int, str], list[tuple[int, dict[str, str]]]] = {}
    for state, view in undecided(space) if among is None else among:
        made.setdefault((state & readable, look(view)), []).append((state, view))
    return [_observation(seen, states) for seen, states in made.items()]


def _observation(seen: tuple[int, str], states: Iterable[tuple[int, dict[str, str]]]) -> Observation:
    window, repeats, loses = "", None, None
    for state, view in states:
        window = window or class_of(view)
        coming = view["wire"] != "0" and not seen[1]
        if repeats is None and view["idempotent"] == "no" and (view["effects"] != "0" or coming):
            repeats = state
        if loses is None and view["effects"] == "0":
            loses = state
    return Observation(seen, window, repeats, loses)


@dataclass(frozen=True)
class Theorem:
    """The class and what lies outside it; `problems` are sentences: why it is not as stated."""

    inside: tuple[Observation, ...]
    outside: tuple[Observation, ...]
    problems: tuple[str, ...]


STATED: Final = frozenset({"1c", "2u"})
"""The windows of the class: 1c, which shares its states with 2 and 2x, and 2u."""


def theorem(made: Iterable[Observation]) -> Theorem:
    """The class, by trying both answers at each observation, and whether it is exactly the stated one."""
    right = {o.seen: [answer for answer, wrong in zip((False, True), o.wrong, strict=True) if not wrong] for o in made}
    inside = tuple(o for o in made if not right[o.seen])
    outside = tuple(o for o in made if right[o.seen])
    problems = [f"a recovery of window {o.window} is always wrong, too" for o in inside if o.window not in STATED]
    stated = {o.window for o in inside}
    problems += [f"no recovery of window {name} is always wrong" for name in sorted(STATED - stated)]
    return Theorem(inside, outside, tuple(dict.fromkeys(problems)))
