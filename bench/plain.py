"""The rival of the explicit search: breadth first over plain tuples, as one writes it in Python without an engine.

Nothing is packed or remembered. The guards are looked up by position; the rules are tried by the value of one field, as a
hand-written program would branch on the place first. It shares no code with the engines that it is measured beside.
"""

from collections.abc import Callable, Iterator

from ..model.machine import Guard, Machine, State

Literals = tuple[tuple[int, frozenset[str]], ...]
Row = tuple[Literals, tuple[Literals, ...], tuple[tuple[int, str], ...]]


def plain_search(machine: Machine, place: str = "at") -> tuple[int, int]:
    """How many states are reached, and how many steps lead from them. place: the field by whose value rules are tried."""
    successors = _successors(machine, place)
    seen = set(machine.initial_states())
    frontier, transitions = list(seen), 0
    while frontier:
        later = []
        for state in frontier:
            for after in successors(state):
                transitions += 1
                if after not in seen:
                    seen.add(after)
                    later.append(after)
        frontier = later
    return len(seen), transitions


def _successors(machine: Machine, place: str) -> Callable[[State], Iterator[State]]:
    position = {field.name: n for n, field in enumerate(machine.fields)}

    def literals(guard: Guard) -> Literals:
        return tuple((position[name], values) for name, values in guard.items())

    at, tried = position[place], {}
    for value in machine.by_name[place].values:
        tried[value] = [
            (
                literals({name: values for name, values in rule.guards.items() if name != place}),
                tuple(literals(guard) for guard in rule.unless),
                tuple((position[name], write) for name, write in rule.writes.items()),
            )
            for rule in machine.rules
            if value in rule.guards.get(place, (value,))
        ]

    def successors(state: State) -> Iterator[State]:
        for guards, unless, writes in tried[state[at]]:
            if _holds(state, guards) and not (unless and any(_holds(state, guard) for guard in unless)):
                yield from _written(state, writes, position)

    return successors


def _holds(state: State, literals: Literals) -> bool:
    for n, values in literals:  # noqa: SIM110  # as in the interpreter: `all` takes twice as long
        if state[n] not in values:
            return False
    return True


def _written(state: State, writes: tuple[tuple[int, str], ...], position: dict[str, int]) -> list[State]:
    """The states after some writes: more than one where one is taken from two or more."""
    found = [list(state)]
    for n, write in writes:
        if write == "-1" and state[n] == "2":
            found = [[*after[:n], left, *after[n + 1 :]] for after in found for left in ("1", "2")]
            continue
        value = state[position[write[1:]]] if write[0] == "=" else write
        if write == "+1":
            value = "1" if state[n] == "0" else "2"
        elif write == "-1":
            value = "0"
        for after in found:
            after[n] = value
    return list(map(tuple, found))
