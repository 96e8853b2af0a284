"""Scenario files: what is tried, as data, with the verdict that is expected of it.

A file is YAML, a list of scenarios. A scenario has a model half (does a property hold, or fail, under a policy; does a window's
row agree) and a runtime half (a crash schedule on a real SQLite store, with the outcome that it must have, or a schedule of
several workers, with the properties that it must break); either may be left out, not both. A walk has both halves at once: moves
on a real store, in lockstep with the model. `list: regression` scenarios keep a defect or a refutation from coming back;
`exploratory` ones show how the system behaves.
"""

from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from ..model.claim_types import PROPERTY_BY_ID
from ..model.claims import CLAIM_BY_ID
from ..model.contract_properties import CONTRACT_BY_ID
from ..model.properties import BY_ID
from ..model.semantics_properties import SEMANTICS_PROPERTIES
from ..model.windows import BY_ID as WINDOWS
from .fleet_policies import FLEET_POLICIES
from .machines import NAMES
from .profile import SESSIONS

FOLDER = Path(__file__).parent


class ScenarioError(ValueError):
    """A scenario file that cannot be used: names the file, the scenario and what is wrong."""


def _known(what: str, names: Collection[str]) -> AfterValidator:
    def check(value: str) -> str:
        if value not in names:
            raise ValueError(f"there is no {what} {value!r}; there are {', '.join(names)}")
        return value

    return AfterValidator(check)


class Base(BaseModel):
    """Immutable, nothing extra."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Step(Base):
    """A part of a scenario that is told step by step. trace: the entries of the execution trace that it makes, `NODE ACTION`."""

    says: str
    trace: tuple[str, ...] = ()


class Run(Base):
    """A crash schedule on the real runtime: `crashwindow replay crash:CASE@POLICY:SCHEDULE` runs the same.

    reply, steps: of sessions of execution contracts alone: what the last reply holds, and how the golden trace comes about.
    recorded: of other jobs, by node: the result that the events hold in the end.
    """

    case: str
    schedule: str
    outcome: str  # final state and effects, as in `parked→completed/1`
    violates: tuple[str, ...] = ()  # the properties that the judge must find broken; none: it must find nothing
    reply: str = ""
    steps: tuple[Step, ...] = ()
    recorded: dict[str, JsonValue] = {}


class Beside(Base):
    """Another protection that guards against the same, so that with the model's alone taken away nothing breaks.

    mutant: without the model's protection alone. stops: the word before which the schedule is then stopped; "" where it goes on.
    other: without the other protection alone. says: what that is.
    """

    mutant: str
    stops: str = ""
    other: str
    says: str


class Interleaving(Base):
    """A schedule of several workers on the shipped driver: `crashwindow replay interleave:CASE@MUTANT:SCHEDULE` performs it.

    model: the digits of the model's run, a shortest one for a job of one step: `crashwindow replay model:POLICY:MODEL`.
    schedule: begins with that run in the scheduler's words, and ends where the properties are broken in the stores or in the
    world. mutant: what is taken away. violates: all properties that have to break.
    """

    model: str
    case: str
    mutant: str
    schedule: str
    violates: tuple[str, ...]
    beside: Beside | None = None


class Walk(Base):
    """Moves of a lockstep walk, as `crashwindow scenario save` writes them: `expect: holds` is that model and runtime agree.

    program: a line for each move, `rig.work(['ok'], {3: 'lost'})`; what it may say is checked where it is run.
    """

    machine: Literal["step", "contract", "workers"] = "step"
    program: tuple[str, ...]


class Scenario(Base):
    """One thing that is tried."""

    name: str
    title: str
    list: Literal["regression", "exploratory"]
    source: str
    policy: Annotated[str, _known("policy", NAMES)] = "hardened"
    claim: Annotated[str, _known("claim", CLAIM_BY_ID)] | None = None
    window: Annotated[str, _known("window", WINDOWS)] | None = None
    property: Annotated[str, _known("property", PROPERTY_BY_ID)] | None = None
    expect: Literal["holds", "refuted"]
    run: Run | None = None
    interleaving: Interleaving | None = None
    walk: Walk | None = None

    def of_contracts(self) -> bool:
        """Whether its run is one of sessions of execution contracts."""
        return self.run is not None and self.run.case.startswith(SESSIONS)

    def shows(self) -> str:
        """What the runtime half shows of its claim, in words."""
        how = "as it ships" if self.policy.endswith("hardened") else f"under policy {self.policy!r}"
        return f"the runtime shows the same {how}: {self.title}: "

    def key(self) -> str | None:
        """The replay key of the runtime half."""
        if self.interleaving:
            return f"interleave:{self.interleaving.case}@{self.interleaving.mutant}:{self.interleaving.schedule}"
        if self.run is None:
            return None
        policy = "" if self.policy == "hardened" else f"@{self.policy}"
        return f"crash:{self.run.case}{policy}:{self.run.schedule}"


_FILE = TypeAdapter(list[Scenario])


def load(path: Path) -> list[Scenario]:
    """The scenarios of one file. Raises ScenarioError."""
    data: object = None
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        scenarios = _FILE.validate_python(data)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: not YAML: {error}") from error
    except ValidationError as error:
        raise ScenarioError(f"{path}: {_explain(data, error)}") from error
    for scenario in scenarios:
        if scenario.interleaving is not None and (scenario.policy not in FLEET_POLICIES or scenario.property is None):
            raise ScenarioError(
                f"{path}: scenario {scenario.name!r} interleaves workers: give it a `property`, and a `policy` of a fleet"
            )
        if scenario.interleaving is None and scenario.policy in FLEET_POLICIES:
            raise ScenarioError(f"{path}: scenario {scenario.name!r} is of a fleet: give it `interleaving`")
        if scenario.property is not None and scenario.property not in (stated := _stated(scenario.policy)):
            raise ScenarioError(
                f"{path}: scenario {scenario.name!r}: property {scenario.property!r} is none of the machine of policy"
                f" {scenario.policy!r}; there are {', '.join(stated)}"
            )
        halves = (scenario.run, scenario.property, scenario.window)
        if scenario.walk is not None and (any(halves) or scenario.interleaving):
            raise ScenarioError(f"{path}: scenario {scenario.name!r} is a walk: it has both halves, give it no other")
        if scenario.walk is None and not any(halves):
            raise ScenarioError(
                f"{path}: scenario {scenario.name!r} tries nothing: give it `run`, `walk`, `property` or `window`"
            )
    return scenarios


def _stated(policy: str) -> list[str]:
    """The properties that are stated of a policy's machine."""
    begins = policy.partition("-")[0]
    if begins in SEMANTICS_PROPERTIES:
        return [prop.id for prop in SEMANTICS_PROPERTIES[begins]]
    return list(CONTRACT_BY_ID if begins == "contract" else BY_ID)


def _explain(data: object, error: ValidationError) -> str:
    first = error.errors()[0]
    place = first["loc"]
    name = ""
    if isinstance(data, list) and place and isinstance(place[0], int) and isinstance(data[place[0]], dict):
        name = f"scenario {data[place[0]].get('name', place[0])!r}: "
    return f"{name}{'.'.join(map(str, place[1:])) or 'the file'}: {first['msg']}"


@cache
def shipped() -> tuple[Scenario, ...]:
    """Every scenario that ships, in the order of the files; names are unique. They are read once."""
    scenarios = tuple(s for path in sorted(FOLDER.glob("*.yaml")) for s in load(path))
    names = [s.name for s in scenarios]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ScenarioError(f"scenario names given twice: {', '.join(twice)}")
    return scenarios
