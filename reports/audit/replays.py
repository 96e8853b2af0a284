"""Models and runs in a bundle: each model is this program's, each run of a model is replayed by the model's interpreter alone.

No search is done and no checker is asked: from its key a run is computed anew, step by step, and must be what was recorded,
field by field. A counterexample must then end where the property of its claim is broken, a witness where it can be.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import product
from typing import Final

from ...checkers.evidence import LOOP, Frame, Item, RunEvidence, ScenarioResult, Trace, Verdict
from ...model.claim_types import PROPERTY_BY_ID, Claim
from ...model.fingerprint import machine_sha256
from ...model.fleet_broken import forbidden
from ...model.fleet_rows import fleet_machine
from ...model.liveness import RESTS
from ...model.machine import Guard, Machine, Scope, State, guard, holds
from ...model.step import FIELDS
from ...model.windows import AMBIGUOUS, MISJUDGED
from ...scenarios.fleet_policies import FLEET_POLICIES, TOOL, searched_fleet
from ...scenarios.machines import NAMES, machine_of
from ...scenarios.schema import Scenario, shipped
from ...scenarios.searched import SEARCHED
from ..view import Register
from .lassos import endless, moves_left

MODEL: Final = "model"
TEXT: Final = "text"
TWIN: Final = re.compile(r"`crashwindow replay ([^ `]+)` its twin")
Step = tuple[str, State]


class ReplayError(ValueError):
    """A run that its key does not give: where and why."""


def models(evidence: RunEvidence, register: Register) -> list[str]:
    """Each model that is not this program's of that name, by its hash, fields and rules; each that is missing."""
    named = {machine.policy for machine in evidence.machines}
    searched = {claim.policy for claim in register.claims if "explore" in claim.methods}
    found = [
        f"model {name}: claims rest on it, and it is not described" for name in SEARCHED if name in searched - named
    ]
    for described in evidence.machines:
        if described.policy not in NAMES:
            found.append(f"model {described.policy}: this program has none of that name")
            continue
        ours = next((m for m in _named(described.policy) if machine_sha256(m) == described.sha256), None)
        if ours is None:
            found.append(f"model {described.policy}: its hash {described.sha256} is not that of this program's model")
        elif (described.fields, described.rules) != (len(ours.fields), len(ours.rules)):
            found.append(
                f"model {described.policy}: {described.fields} fields and {described.rules} rules are not its own"
            )
    return found


def _named(policy: str) -> Iterator[Machine]:
    """The machines that go by a policy's name: of a fleet one with each kind of tool."""
    yield machine_by_name(policy)
    if policy in FLEET_POLICIES:
        values = [_tool_values(name) for name in TOOL]
        for kind in product(*values):
            yield fleet_machine(searched_fleet(FLEET_POLICIES[policy], dict(zip(TOOL, kind, strict=True))))


def _tool_values(name: str) -> tuple[str, ...]:
    return next(field.values for field in FIELDS if field.name == name)


@cache
def machine_by_name(policy: str) -> Machine:
    return machine_of(policy)


def replays(evidence: RunEvidence, register: Register) -> list[str]:
    """Each run of a model that is not what its key gives, or does not show what its claim says that it shows."""
    known = {claim.id: claim for claim in register.claims}
    found = [f"claim {claim}: {words}" for claim, words in _kinds(evidence)]
    for result in evidence.claims:
        for number, item in enumerate(result.items):
            if item.trace and item.trace.key.startswith(f"{MODEL}:"):
                claim = known.get(result.claim)
                where = f"claim {result.claim}, traces/{result.claim}-{number}.json"
                found += [f"{where}: {words}" for words in _problems(item.trace, item, claim)]
    stated = {scenario.name: scenario for scenario in shipped()}
    for told in evidence.scenarios:
        if told.name in stated:
            found += [f"scenario {told.name}: {words}" for words in _scenario(stated[told.name], told)]
    return found


def _scenario(stated: Scenario, result: ScenarioResult) -> Iterator[str]:
    """Whether a scenario shows the run that it owes: of a property that is refuted a counterexample, and else none."""
    trace, name = result.trace, stated.property
    owes = name is not None and stated.expect == "refuted"
    if trace is None or name is None or not owes:
        if trace:
            yield "it shows a run, and owes none"
        elif owes and result.passed:
            yield f"no run shows that {name} is broken"
        return
    key = f"{MODEL}:{stated.policy}:{stated.interleaving.model if stated.interleaving else ''}"
    if not (trace.key == key if stated.interleaving else trace.key.startswith(key)):
        yield f"its run is {trace.key[:80]!r}, and due is one of {key}"
        return
    yield from _problems(trace, None, None)
    with suppress(ReplayError):
        policy, run = follow(trace)
        if not any(holds(machine_by_name(policy).view(run[-1][1]), each) for each in _never(policy, name)):
            yield f"{name} is not broken where its run ends"


def _kinds(evidence: RunEvidence) -> Iterator[tuple[str, str]]:
    """Items with a run of another kind than their checker shows: nobody would replay it."""
    for result in evidence.claims:
        for item in result.items:
            if item.trace and not (
                item.trace.key.startswith(f"{MODEL}:")
                if item.checker == "explore"
                else item.checker == "enumerate" and item.trace.key == f"{TEXT}:{result.claim}"
            ):
                yield result.claim, f"{item.checker} shows no run by the key {item.trace.key[:80]!r}"


def counted(evidence: RunEvidence) -> tuple[int, int]:
    """How many runs of a model there are, and how many of the runtime, which are not replayed here."""
    traces = [i.trace for r in evidence.claims for i in r.items if i.trace]
    traces += [s.trace for s in evidence.scenarios if s.trace]
    of_models = sum(trace.key.startswith(f"{MODEL}:") for trace in traces)
    return of_models, len(traces) - of_models


def _problems(trace: Trace, item: Item | None, claim: Claim | None) -> Iterator[str]:
    try:
        policy, run = follow(trace)
    except ReplayError as error:
        yield str(error)
        return
    machine = machine_by_name(policy)
    for number, (due, said) in enumerate(zip(_frames(machine, run), trace.frames, strict=False)):
        if due != said:
            yield f"frame {number}, {said.rule!r}: the model does not do this after what stands before it"
            return
    if len(run) != len(trace.frames):
        yield f"its key has {len(run)} steps, and {len(trace.frames)} are shown"
        return
    if item and claim:
        yield from _shows(machine, run, trace, item, claim)


def follow(trace: Trace) -> tuple[str, list[Step]]:
    """Policy and run that a key names, by the interpreter alone. Raises ReplayError."""
    _, _, rest = trace.key.partition(":")
    policy, _, digits = rest.partition(":")
    try:
        machine = machine_by_name(policy)
    except (KeyError, ValueError) as error:
        raise ReplayError(f"its key names no model: {policy!r}") from error
    options: Sequence[Step] = [("", state) for state in machine.initial_states()]
    run: list[Step] = []
    for place, digit in enumerate(digits.replace(LOOP, "/").split("/")):
        if not (digit.isascii() and digit.isdecimal() and len(digit) < 10 and int(digit) < len(options)):
            raise ReplayError(f"its key is none of the model {policy}: choice {place} is {digit!r} of {len(options)}")
        run.append(options[int(digit)])
        options = [(rule.name, state) for rule, state in machine.successors(run[-1][1])]
    if trace.repeats is not None and run[trace.repeats][1] != run[-1][1]:
        raise ReplayError("what is repeated for ever does not lead back to where it began")
    return policy, run


def _frames(machine: Machine, run: Sequence[Step]) -> Iterator[Frame]:
    """The run as a trace has to show it: the whole state, then what changes."""
    before: dict[str, str] = {}
    for name, state in run:
        view = machine.view(state)
        rule = machine.rule(name) if name else None
        yield Frame(
            rule=name or "start",
            actor=rule.actor.value if rule else "start",
            boundary=rule.boundary if rule else None,
            changed={field: value for field, value in view.items() if before.get(field) != value},
        )
        before = view


def _shows(machine: Machine, run: Sequence[Step], trace: Trace, item: Item, claim: Claim) -> Iterator[str]:
    """Why a run does not show what its claim says that it shows."""
    if machine.name != claim.policy:
        yield f"it is a run under policy {machine.name}, and the claim is about {claim.policy}"
        return
    last = machine.view(run[-1][1])
    names = [name for name in claim.properties if item.statement.startswith(f"{name} ")]
    if claim.kind in ("holds", "refuted"):
        if len(names) != 1:
            yield "its statement does not begin with one of the claim's properties"
        elif item.verdict is Verdict.REFUTED and not breaks(machine, run[-1][1], names[0]):
            yield f"{names[0]} is not broken where it ends: it is no counterexample"
        elif item.verdict is not Verdict.REFUTED and not any(holds(last, g) for g in PROPERTY_BY_ID[names[0]].occurs):
            yield f"{names[0]} does not speak of the state where it ends: it is no witness"
    elif claim.kind == "live":
        yield from _never_rests(machine, run, trace, item, claim)
    elif claim.kind == "occurs":
        if not holds(last, MISJUDGED):
            yield "what is said to occur does not, where it ends: it is no witness"
    elif claim.kind == "ambiguity":
        yield from _ambiguous(machine, last, item)
    elif claim.kind != "exactly":  # of which the necessity matrix shows both runs
        yield f"a run shows nothing of a claim of the kind {claim.kind!r}"


def _never_rests(machine: Machine, run: Sequence[Step], trace: Trace, item: Item, claim: Claim) -> Iterator[str]:
    fleet = searched_fleet(FLEET_POLICIES[claim.policy]) if claim.policy in FLEET_POLICIES else None
    yield from endless(run, trace.repeats, moves_left(machine, claim.assumptions, fleet), RESTS[claim.policy], machine)
    steps = len(run) - 1 if trace.repeats is None else trace.repeats
    told = item.figures.get("steps"), item.figures.get("repeated")
    if told != (steps, len(run) - 1 - steps):
        yield f"{told[0]} steps and {told[1]} repeated are told, and it has {steps} and {len(run) - 1 - steps}"


def _ambiguous(machine: Machine, last: Mapping[str, str], item: Item) -> Iterator[str]:
    """Two runs to states that differ in the world alone: in the one the effect has happened, in its twin nothing has."""
    found = TWIN.search(item.statement)
    try:
        policy, twins = follow(Trace(key=found[1] if found else "", frames=[]))
    except ReplayError as error:
        yield f"of its twin: {error}"
        return
    twin = machine_by_name(policy).view(twins[-1][1])
    seen = [field.name for field in machine.fields if field.scope not in (Scope.WORLD, Scope.GHOST)]
    ambiguous = any(holds(last, {**each, **guard(at="idle", effects="1")}) for each in AMBIGUOUS)
    if policy != machine.name or not ambiguous or twin["effects"] != "0" or any(last[n] != twin[n] for n in seen):
        yield "it and its twin do not end in one durable state of the class, with an effect and without"


def breaks(machine: Machine, state: State, name: str) -> bool:
    """Whether a property is broken in a state, or by a step from it."""
    stated, view = PROPERTY_BY_ID[name], machine.view(state)
    if any(holds(view, each) for each in _never(machine.name, name)):
        return True
    durable = {field.name for field in machine.fields if field.scope.value == "durable"}
    ended = any(holds(view, each) for each in stated.absorbing)
    for _, after in machine.successors(state):
        changed = {n for n, value in machine.view(after).items() if value != view[n]}
        first = {field.name: field.values[0] for field in machine.fields}
        if (ended and changed & durable) or any(n in changed and view[n] != first[n] for n in stated.grows):
            return True
    return False


@cache
def _never(policy: str, name: str) -> Sequence[Guard]:
    """What a property forbids in a state of a policy's machine."""
    stated = PROPERTY_BY_ID[name]
    if policy in FLEET_POLICIES:
        return forbidden(searched_fleet(FLEET_POLICIES[policy]), stated)
    return stated.never
