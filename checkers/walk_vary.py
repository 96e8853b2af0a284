"""Variations of programs of the step's walk: each differs a little from one that is kept.

What no plan comes to, since a choice is not the director's to make, is sought so: a strike elsewhere, another answer, one more
move. Which variation is of use says the model that follows (`walks.plan`): one that takes for certain what no program took.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final, get_args

from ..runtime.verifier import Mode
from .conform_rig import Strike
from .conform_world import CONTRACTS, Behaviour, Directed, Gate, Looks, Seen, StepPlan, Undoing
from .walk_programs import Program, parsed, written

Move = tuple[str, tuple[Any, ...]]
BEHAVIOURS: Final = (*get_args(Behaviour), *get_args(Directed))
STRIKES: Final = [strike for strike in get_args(Strike) if strike not in ("error", "conflict", "stale")]
"""What tells the model something: the others are repetitions, or a crash by another name."""
POSITIONS: Final = 22
"""Boundaries of a turn at which it is struck."""
MOST_NODES: Final = 3
MOST_MOVES: Final = 9
WORK: Final[Move] = ("work", ([], {}))
CANCEL: Final[Move] = ("cancel", ())
SWEEP: Final[tuple[tuple[Strike, Strike | None, list[Move]], ...]] = (
    ("crash before", None, [WORK]),
    ("crash before", None, [CANCEL, WORK]),
    ("lost", None, [WORK]),
    ("lost", "crash before", [WORK]),
    ("cancel", None, [WORK]),
    ("signal", None, [WORK]),
)
"""What a sweep does before a boundary, before the next (the same, where the answer was lost), and behind the turn."""
CHANGES: Final = 3
"""Of one variation, at most."""


def variable(program: Program) -> bool:
    """Whether the models of single steps can follow what it is varied to.

    They cannot where a step is undone, or told of, beside another that is under way: such a program is kept as it is.
    """
    moves = [parsed(line, "step") for line in program.lines]
    return not any(name == "tell" or (name == "undo" and arguments) for name, arguments in moves)


def varied(program: Program, choice: random.Random) -> Program:
    """A variation."""
    moves = [parsed(line, "step") for line in program.lines]
    for _ in range(choice.randint(1, CHANGES)):
        choice.choice(WAYS)(moves, choice)
    if moves[-1][0] != "work":
        moves.append(WORK)
    return _of(program, moves[:MOST_MOVES])


def _of(program: Program, moves: Sequence[Move]) -> Program:
    return replace(program, lines=tuple(written(name, arguments) for name, arguments in moves))


def _given(turn: Move) -> tuple[list[Any], dict[int, Any]]:
    """What a turn is given: behaviours and strikes."""
    behaviours, strikes = (*turn[1], [], {})[:2] if len(turn[1]) != 1 else (turn[1][0], {})
    return list(behaviours), dict(strikes)


def swept(program: Program, lengths: Sequence[int]) -> Iterator[Program]:
    """The program with every strike of `SWEEP` at every boundary of its last two turns; lengths: of its turns."""
    moves = [parsed(line, "step") for line in program.lines]
    turns = [place for place, (name, _) in enumerate(moves) if name == "work"]
    for place, length in list(zip(turns, lengths, strict=True))[-2:]:
        behaviours, strikes = _given(moves[place])
        for at, (first, second, tail) in product(range(1, length), SWEEP):
            struck = {**strikes, at: first, **({at + 1: second} if second else {})}
            turn: Move = ("work", (behaviours, dict(sorted(struck.items()))))
            yield _of(program, [*moves[:place], turn, *tail])


def _struck(moves: list[Move], choice: random.Random) -> None:
    """A turn is struck elsewhere, or no longer."""
    place, (behaviours, strikes) = _turn(moves, choice)
    changed = dict(strikes)
    if changed and choice.random() < 0.6:
        at, strike = choice.choice(list(changed.items()))
        del changed[at]
        if choice.random() < 0.8:
            changed[max(0, at + choice.choice((-2, -1, 1, 2)))] = strike
    else:
        changed[choice.randrange(POSITIONS)] = choice.choice(STRIKES)
    moves[place] = ("work", (behaviours, dict(sorted(changed.items()))))


def _answered(moves: list[Move], choice: random.Random) -> None:
    """The tools do something else in a turn."""
    place, (behaviours, strikes) = _turn(moves, choice)
    changed = list(behaviours)
    if changed and choice.random() < 0.5:
        changed[choice.randrange(len(changed))] = choice.choice(BEHAVIOURS)
    else:
        changed.insert(choice.randint(0, len(changed)), choice.choice(BEHAVIOURS))
    moves[place] = ("work", (changed, strikes))


def _inserted(moves: list[Move], choice: random.Random) -> None:
    """One more move."""
    truth = choice.random() < 0.5
    plain: list[Move] = [(name, ()) for name in ("cancel", "signal", "undo")]
    told: list[Move] = [(name, (truth,)) for name in ("answer", "wait", "late")]
    others: list[Move] = [("work", ([], {})), ("work", ([], {})), ("configure", (choice.choice(get_args(Mode)),))]
    moves.insert(choice.randint(1, len(moves)), choice.choice([*plain, *told, *others]))


def _dropped(moves: list[Move], choice: random.Random) -> None:
    """One move fewer."""
    if len(moves) > 2:
        del moves[choice.randrange(1, len(moves))]


def _submitted(moves: list[Move], choice: random.Random) -> None:
    """Another job: a step with another contract, one more node, or one fewer."""
    nodes = list(moves[0][1][0])
    place = choice.randrange(len(nodes))
    way = choice.random()
    if way < 0.25 and len(nodes) < MOST_NODES:
        nodes.insert(choice.randint(0, len(nodes)), Gate() if choice.random() < 0.5 else _step(choice))
    elif way < 0.35 and len(nodes) > 1:
        del nodes[place]
    elif isinstance(nodes[place], StepPlan):
        nodes[place] = _other(nodes[place], choice)
    if not any(isinstance(node, StepPlan) for node in nodes):
        nodes.append(_step(choice))
    alone = sum(isinstance(node, StepPlan) for node in nodes) == 1
    nodes = [node if alone or isinstance(node, Gate) else replace(node, looks=None) for node in nodes]
    moves[0] = ("submit", (nodes,))


def _step(choice: random.Random) -> StepPlan:
    return StepPlan(choice.choice(CONTRACTS), 0, None, "o", None, choice.choice((0, 9)))


def _other(step: StepPlan, choice: random.Random) -> StepPlan:
    """A step that differs in one thing."""
    answers = tuple(choice.choice(get_args(Seen)) for _ in range(choice.randint(1, 3)))
    looks = Looks(choice.choice(get_args(Mode)), answers, choice.choice((1, 1, 2)))
    return choice.choice(
        (
            replace(step, contract=choice.choice(CONTRACTS)),
            replace(step, undoes=choice.choice(get_args(Undoing))),
            replace(step, looks=choice.choice((looks, looks, None))),
            replace(step, max_retries=choice.choice((0, 1, 9))),
            replace(step, max_requeues=choice.choice((0, 9))),
        )
    )


def _turn(moves: list[Move], choice: random.Random) -> tuple[int, tuple[list[Any], dict[int, Any]]]:
    """A turn of a worker, with what it is given."""
    if not any(name == "work" for name, _ in moves):
        moves.append(("work", ([], {})))
    place = choice.choice([number for number, (name, _) in enumerate(moves) if name == "work"])
    return place, _given(moves[place])


WAYS: Final[tuple[Callable[[list[Move], random.Random], None], ...]] = (
    _struck, _struck, _struck, _answered, _answered, _inserted, _inserted, _dropped, _submitted,
)  # fmt: skip
"""How a program is varied; what is listed more often happens more often."""
