"""Keys of steps that look alike: every pair of distinct steps out of a set made of near-collisions has distinct keys."""

from itertools import product
from typing import Final

from ..runtime.keys import execution_key, stable_key
from ..runtime.records import Json
from .evidence import Item, Verdict

NAMES: Final = ("a", "b", "ab", "a b", "a:b", "aa", "A", "ä", "a\u0308", "0", "00", "\\0", "\n", "null", '"', "")
ARGS: Final[tuple[Json, ...]] = (
    None, {}, [], "", 0, False, "null", "{}", {"a": None}, {"a": {}}, {"a": []}, {"a": ""}, {"a": "0"}, {"a": 0}, {"a": False},
    {"": {"a": None}}, {"a": {"b": None}}, {"a\0": None}, {"b": None},
    {"a": None, "b": None}, [None], [[]], [0], ["0"], [0, 0], [[0], 0],
)  # fmt: skip
"""JSON values of which no two are the same value (RFC 8785 takes 1 and 1.0 for one number, and key order for nothing)."""


def check() -> Item:
    """The keys of all steps that can be made of the names and the arguments above."""
    steps = list(product(NAMES, NAMES, NAMES, range(len(ARGS))))
    keys: dict[str, tuple[str, str, str, int]] = {}
    command = "crashwindow check P11-INJECTIVE"
    for job, node, tool, index in steps:
        key = stable_key(execution_key(job, node, tool, ARGS[index]))
        other = keys.setdefault(key, (job, node, tool, index))
        if other != (job, node, tool, index):
            said = f"the steps {other[:3]} with {ARGS[other[3]]!r} and {(job, node, tool)} with {ARGS[index]!r} share {key}"
            return Item(checker="enumerate", verdict=Verdict.REFUTED, statement=said, command=command)
    said = f"{len(keys)} steps made of names and arguments that nearly collide have as many keys"
    return Item(
        checker="enumerate", verdict=Verdict.TESTED, statement=said, figures={"steps": len(keys)}, command=command
    )
