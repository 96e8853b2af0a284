"""What the readers of the machines beside the step's share: who is at work, who is gone, whether the effect has happened."""

from ..runtime.commands import Claim, Fence
from .enumerate_floor import WideFloor
from .enumerate_read import Letters, Reader
from .interleave_floor import State
from .interleave_turn import Turn


class BesideReader(Reader):
    """A reader of words for one worker at a time, whose machine is not the step's."""

    floor: WideFloor

    def __init__(self, floor: WideFloor, letters: tuple[str, ...] = ("",)) -> None:
        super().__init__(floor, letters)
        self._folded: dict[tuple[int, ...], dict[str, str]] = {}

    def told(self, state: State) -> dict[str, str]:
        """What the stores say in the machine's words, folded once for each content."""
        key = state.stores[:3]
        if key not in self._folded:
            self._folded[key] = self.fold(state)
        return self._folded[key]

    def fold(self, state: State) -> dict[str, str]:
        """The same, from events and records."""
        raise NotImplementedError

    def durable(self, state: State) -> dict[str, str]:
        """The durable fields."""
        return self.told(state)

    def world(self, state: State, names: Letters) -> dict[str, str]:
        """Nothing is compared, unless a machine says so."""
        return {}

    def idle(self, turn: Turn | None) -> bool:
        """Whether a worker is none to the machine: it has not claimed the job, or has read that it is not open."""
        return turn is None or isinstance(turn.command, Claim | None) or self._void(turn)

    def only(self, state: State) -> Turn | None:
        """The turn of the only worker; None where nobody has one."""
        return self._turn(max((number for number, _ in state.actors), default=-1))

    def gone(self, state: State, after: State) -> list[Turn | None]:
        """The turns of the workers that the time has overtaken."""
        there = {number for number, _ in after.actors}
        return [self._turn(number) for number, _ in state.actors if number not in there]

    def acted(self, state: State, after: State) -> bool:
        """Whether the step's effect has happened, and had not before."""
        worlds = self.floor.worlds
        return bool(worlds[after.world].effects) > bool(worlds[state.world].effects)

    def unread(self, turn: Turn) -> bool:
        """Whether a worker has claimed the job, and read nothing of it."""
        return isinstance(turn.command, Fence) and isinstance(self.floor.turns[turn.before].command, Claim)
