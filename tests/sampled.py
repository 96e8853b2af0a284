"""Of many cases that are alike: those which `make test` runs as tests, and those which `make deep` adds."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

import pytest


def sampled(cases: Iterable[Any], now: int = 1) -> list[Any]:
    """The cases as parameters of a test; all but the first `now` are marked `deep`.

    For cases that a stage of `verify` goes through as well: `make test` ends with such a run, and is red where one of them comes
    out otherwise. What is left to the test is that the stage's own function can say no. And for planted defects of which one is
    enough to see that a check has teeth, and the kill matrix of `crashwindow mutants` has the others.
    A case that is a tuple stands for several parameters.
    """
    every = list(cases)
    later = (case if isinstance(case, tuple) else (case,) for case in islice(every, now, None))
    return [*every[:now], *(pytest.param(*case, marks=pytest.mark.deep) for case in later)]
