"""Whether the replay went through what the evidence rests on: as many streams as it tells of, with what its claims speak of."""

from collections.abc import Iterator, Mapping
from typing import Final

from ...checkers.evidence import RunEvidence
from .stream_events import WORLD
from .stream_replay import Replayed
from .streams import FOLDER

KEPT: Final = "streams"
"""The figure of an item that says how many streams there are in the folder on which it rests."""
CONTRACTS: Final = f"{FOLDER}contracts/"
"""Where the runs of execution contracts are, on which what is said of contracts rests."""
REPLAYED: Final[Mapping[str, tuple[str, str]]] = {
    "P9": ("gates", "gate"),
    "P10": ("compensations", "compensation"),
    "P12": ("values", "recorded value"),
}
"""Of claims that rest on replayed traces: what must have been replayed for them, as it is counted, and in words."""


def unreplayed(files: Mapping[str, bytes], evidence: RunEvidence, found: Replayed) -> Iterator[str]:
    """What the evidence rests on, and the replay has not gone through."""
    kept: dict[str, set[int | float | str | None]] = {}
    for result in evidence.claims:
        for item in result.items:
            places = [place for place in item.files if place.startswith(FOLDER)]
            for place in places:
                kept.setdefault(place, set()).add(item.figures.get(KEPT))
            due = [REPLAYED.get(result.claim, ("steps", "tool step"))] if places and item.checker == "monitor" else []
            due += [("contracts", "execution contract")] if CONTRACTS in places else []
            for counted, words in due:
                if not getattr(found, counted):
                    yield f"claim {result.claim}: it rests on replayed runs, and no {words} is in the streams"
    for place, said in kept.items():
        there = sum(name.startswith(place) and name.endswith(WORLD) for name in files)  # each has exactly one
        if said != {there}:
            told = ", ".join(sorted("no stated number of" if number is None else str(number) for number in said))
            yield f"{place}: the evidence rests on {told} streams, and {there} are there"
