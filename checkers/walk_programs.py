"""Programs of a walk: what was done to a rig, as lines that do it again, and the replay key that holds them.

A line is a call, `rig.work(['lost answer'], {3: 'lost'})`. It is read as data: a call of one of the machine's moves, with
literals and the plain records below as arguments; nothing else of Python is understood, and nothing is evaluated.
"""

import ast
import base64
import binascii
import inspect
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal, Protocol, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from ..model.contract_machine import build_contract
from ..model.policy import HARDENED, Policy
from ..model.step import build
from ..model.surroundings import build_around
from ..scenarios.policies import POLICIES
from .abstraction import RAM
from .conform_follow import Disagreement, Model, NoMoveError, made
from .conform_rig import Rig
from .conform_world import Gate, Looks, Says, StepPlan
from .contract_follow import ContractModel
from .contract_rig import ContractRig
from .contract_services import Wish
from .monitor import Monitor
from .workers_rig import WorkersRig, in_file

PREFIX: Final = "walk"
Kind = Literal["step", "contract", "workers"]
MOVES: Final[Mapping[Kind, tuple[str, ...]]] = {
    "step": ("submit", "work", "answer", "tell", "cancel", "signal", "undo", "configure", "wait", "late"),
    "contract": (
        "open",
        "say",
        "advance",
        "respond",
        "resume",
        "cancel",
        "supersede",
        "reopen",
        "resolve",
        "wait",
        "late",
    ),
    "workers": ("submit", "begin", "go", "kill", "cancel", "answer", "late", "lapse"),
}
RIGS: Final[Mapping[Kind, type]] = {"step": Rig, "contract": ContractRig, "workers": WorkersRig}
RECORDS: Final[Mapping[str, Callable[..., Any]]] = {
    "StepPlan": StepPlan, "Gate": Gate, "Looks": Looks, "Says": Says, "Wish": Wish,
}  # fmt: skip
LONGEST: Final = 100_000
"""Characters of a program: a key that unfolds to more is none of ours."""


class Moved(Protocol):
    """A rig: it has moves, and files."""

    def close(self) -> None:
        """Close the files."""


@dataclass(frozen=True)
class Program:
    """What was done, line by line, to the rig of a machine under a policy."""

    kind: Kind
    policy: str
    lines: tuple[str, ...]

    @property
    def key(self) -> str:
        """The replay key: `walk:step@hardened:` and the lines, packed."""
        packed = base64.urlsafe_b64encode(zlib.compress("\n".join(self.lines).encode(), 9)).decode().rstrip("=")
        return f"{PREFIX}:{self.kind}@{self.policy}:{packed}"

    def run(self, tell: Callable[[str], None] = lambda line: None, model: Model | None = None) -> str:
        """Do it again, in lockstep with the model: where the two part, in words; "" where they agree to the end.

        tell: hears each line before it is done. model: keeps what was taken of the step's machine. Raises ValueError for a line
        that is none, or that cannot be done where it stands.
        """
        moves = [parsed(line, self.kind) for line in self.lines]
        with tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else None) as folder:
            rig = self._rig(Path(folder), model)
            try:
                for line, (name, arguments) in zip(self.lines, moves, strict=True):
                    tell(line)
                    _do(rig, line, name, arguments)
            except Disagreement as error:
                return str(error)
            finally:
                rig.close()
        return ""

    def _rig(self, folder: Path, model: Model | None) -> Moved:
        if self.kind == "contract":
            return ContractRig(folder, ContractModel(build_contract()))
        if self.kind == "workers":
            return WorkersRig(in_file(folder), Monitor(build()))
        policy = policy_of(self.policy)
        return Rig(folder, model or Model(build_around(policy)), policy)


def _do(rig: Moved, line: str, name: str, arguments: tuple[Any, ...]) -> None:
    try:
        made(getattr(rig, name), *arguments)
    except NoMoveError as error:
        raise ValueError(f"{line!r} cannot be done there: {error}") from error


def shortest(program: Program) -> Program:
    """A program that parts, without the lines that it does not take to part in the same words; any other as it is.

    Lines are left out one by one, and two by two: who submits a job and who works on it are needed together, or not at all.
    """

    def parting(each: Program) -> str:
        try:
            return each.run().partition(": ")[2].partition(". It could")[0]
        except ValueError:  # a line is left that takes one before it
            return ""

    def fewer(by: int) -> Program | None:
        for out in combinations(reversed(range(len(program.lines))), by):
            left = tuple(line for place, line in enumerate(program.lines) if place not in out)
            if left and parting(replace(program, lines=left)) == words:
                return replace(program, lines=left)
        return None

    words = parting(program)
    if not words:
        return program
    while found := fewer(1) or fewer(2):
        program = found
    return program


def policy_of(name: str) -> Policy:
    """A policy by its name. Raises ValueError."""
    if name not in POLICIES:
        raise ValueError(f"there is no policy {name!r}; there are {', '.join(POLICIES)}")
    return POLICIES[name]


def of_key(key: str) -> Program:
    """The program that a replay key holds. Raises ValueError, with what is wrong with the key."""
    prefix, _, rest = key.partition(":")
    head, _, packed = rest.partition(":")
    kind, _, policy = head.partition("@")
    if prefix != PREFIX or kind not in get_args(Kind) or not packed:
        raise ValueError(
            f"{key!r} is no key of a walk: walk:MACHINE@{HARDENED.name}:…, MACHINE one of {', '.join(MOVES)}"
        )
    try:
        unpack = zlib.decompressobj()
        text = unpack.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), LONGEST).decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"the key is damaged: {error}; copy it whole") from error
    if not unpack.eof:
        raise ValueError("the key is damaged: it ends too early; copy it whole")
    machine: Kind = next(name for name in MOVES if name == kind)
    program = Program(machine, policy_of(policy).name, tuple(text.split("\n")))
    for line in program.lines:
        parsed(line, program.kind)
    return program


def written(name: str, arguments: Sequence[object]) -> str:
    """The line that does this again."""
    return f"rig.{name}({', '.join(map(repr, arguments))})"


def parsed(line: str, kind: Kind) -> tuple[str, tuple[Any, ...]]:
    """The move that a line names, with its arguments. Raises ValueError for any other text."""
    try:
        call = ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"not a line of a program: {line!r}") from error
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="rig"), attr=name), args=arguments, keywords=[]):
            if name in MOVES[kind]:
                given = tuple(_value(argument, line) for argument in arguments)
                _check(kind, name, given, line)
                return name, given
    raise ValueError(f"{line!r} is no move of a {kind}: rig.MOVE(…), with MOVE one of {', '.join(MOVES[kind])}")


def _check(kind: Kind, name: str, given: tuple[Any, ...], line: str) -> None:
    """Raise ValueError where a move takes other arguments."""
    signature, takes = _taken(getattr(RIGS[kind], name))
    try:
        bound = signature.bind(None, *given).arguments
    except TypeError as error:
        raise ValueError(f"{line!r}: {error}") from error
    _fit(bound, takes, line)


def _fit(given: Mapping[str, Any], takes: Mapping[str, TypeAdapter[Any]], line: str) -> None:
    for each in takes.keys() & given.keys():
        try:
            takes[each].validate_python(given[each], strict=True)
        except ValidationError as error:
            raise ValueError(f"{line!r}: {each}: {error.errors()[0]['msg']}") from error


@cache
def _taken(what: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, TypeAdapter[Any]]]:
    """The signature of a move, or of a record, and what each of its arguments may be."""
    hints = get_type_hints(what)
    return inspect.signature(what), {each: TypeAdapter(hint) for each, hint in hints.items() if each != "return"}


def _value(node: ast.expr, line: str) -> Any:
    """What an argument says: literals and records alone."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=elements):
            return [_value(element, line) for element in elements]
        case ast.Tuple(elts=elements):
            return tuple(_value(element, line) for element in elements)
        case ast.Dict(keys=keys, values=values) if all(keys):
            pairs = zip(keys, values, strict=True)
            return {_value(key, line): _value(value, line) for key, value in pairs if key is not None}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=named) if name in RECORDS:
            given = {entry.arg: _value(entry.value, line) for entry in named if entry.arg}
            try:
                record = RECORDS[name](*(_value(argument, line) for argument in arguments), **given)
            except TypeError as error:
                raise ValueError(f"{line!r}: {error}") from error
            _fit(vars(record), _taken(RECORDS[name])[1], line)
            return record
    raise ValueError(f"{line!r}: {ast.unparse(node)} is not data")
