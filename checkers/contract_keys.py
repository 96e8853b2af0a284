"""Keys of contracts: S3's formula, computed by two interpreters, and the contract key on actions that look alike.

Python salts `hash` of a string per process (PYTHONHASHSEED), so S3's formula names an action anew after every restart.
"""

import os
import subprocess
import sys
from itertools import product

from ..runtime.contracts.records import contract_key
from .evidence import Item, Verdict
from .keys import ARGS

S3_FORMULA = "service, method, args = 'email', 'send', ('bob', 'meeting'); print(f'{service}:{method}:{hash(args)}')"
"""The formula of S3, for arguments that can be hashed at all: S3 hands it a dictionary, which cannot."""

OURS = (
    "from crashwindow.runtime.contracts.records import contract_key; print(contract_key('o', 'email', 'send', ['bob']))"
)
NAMES = ("a", "b", "ab", "a b", "a:b", "aa", "A", "ä", "a\u0308", "0", "", "\\0")
SEEDS = ("1", "2")


def computed(program: str) -> list[str]:
    """What a program prints in interpreters that differ in PYTHONHASHSEED alone. Raises CalledProcessError."""
    environments = [{**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)} for seed in SEEDS]
    return [
        subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
        ).stdout.strip()
        for env in environments
    ]


def salted() -> Item:
    """S3's formula in two processes."""
    first, second = computed(S3_FORMULA)
    command = "crashwindow check S3-KEY"
    if first == second:
        said = f"two interpreters compute the same key, {first}"
        return Item(checker="enumerate", verdict=Verdict.TESTED, statement=said, command=command)
    said = f"with PYTHONHASHSEED={SEEDS[0]} the key is {first}, with PYTHONHASHSEED={SEEDS[1]} it is {second}"
    return Item(checker="enumerate", verdict=Verdict.REFUTED, statement=said, command=command)


def distinct() -> Item:
    """The contract key: the same in two processes, another one for every other action out of near-collisions."""
    command = "crashwindow check C-KEY"
    actions = list(product(NAMES, NAMES, NAMES, range(len(ARGS))))
    keys = {contract_key(occurrence, service, method, ARGS[n]) for occurrence, service, method, n in actions}
    stable = len(set(computed(OURS))) == 1
    right = stable and len(keys) == len(actions)
    said = f"{len(keys)} keys for {len(actions)} actions that nearly collide; two interpreters compute "
    said += "the same key" if stable else "two keys"
    verdict = Verdict.TESTED if right else Verdict.REFUTED
    return Item(
        checker="enumerate", verdict=verdict, statement=said, figures={"actions": len(actions)}, command=command
    )
