"""Where recovery may begin: at the last checkpoint that settles what is before it (T-RECOVER, decision 043).

Such a checkpoint says how many nodes of the plan are `settled`, and which events before it are still to be read (`keeps`, their
versions). Whoever recovers reads these and what follows the version that it covers, and no record of a node that is settled. When
a checkpoint may say so is written in `settling.py`.
"""

from collections.abc import Iterable, Sequence

from .records import Event


def from_checkpoint(newest_first: Iterable[Event]) -> tuple[list[Event], Sequence[int]]:
    """Of a job's events, read backwards as far as is needed: those from where recovery begins on, and what it keeps before them.

    All of them, and nothing, where no checkpoint settles anything, or a client has spoken of a node since.
    """
    read: list[Event] = []
    settling: Event | None = None
    spoken = False
    for event in newest_first:
        if settling is not None and event.version <= settling.data["covers"]:
            break
        read.append(event)
        if event.epoch is None and event.step is not None:
            settling, spoken = None, True
        elif settling is None and not spoken and event.type == "state_checkpointed" and "settled" in event.data:
            settling = event
    read.reverse()
    return read, () if settling is None else settling.data["keeps"]


def settled(events: Sequence[Event]) -> int:
    """How many nodes are settled for whoever has read these events; none where they are all that there are."""
    if events[-1].version == len(events):
        return 0
    number: int = next((event.data["settled"] for event in reversed(events) if "settled" in event.data), 0)
    return number
