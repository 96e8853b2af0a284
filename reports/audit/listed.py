"""A list in the evidence beside the one that is due."""

from collections import Counter
from collections.abc import Iterable, Iterator


def names(what: str, there: Iterable[str], due: Iterable[str]) -> Iterator[str]:
    """Names that are missing, there twice, or nobody's."""
    times, known = Counter(there), set(due)
    yield from (f"{what} {name}: it is missing" for name in sorted(known - times.keys()))
    yield from (f"{what} {name}: this program has none of that name" for name in sorted(times.keys() - known))
    yield from (f"{what} {name}: it is there {count} times" for name, count in times.items() if count > 1)
