"""A machine as a TLA+ module, for TLC: the rows once more, in the language of whoever distrusts our explorer (E-TRUST).

One variable per field, one action per rule, under the rule's name and with its source. What a property forbids is an invariant,
what must only grow or end all change is an action property. A count is 0, 1 or 2, where 2 stands for two or more, as in
`model.machine`: so the number of distinct states is the explorer's.
"""

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from ..model.compensation import build_compensation
from ..model.compensation_properties import COMPENSATION_PROPERTIES
from ..model.contract_machine import build_contract
from ..model.contract_properties import CONTRACT_PROPERTIES
from ..model.gate import GATE_PROPERTIES, build_gate
from ..model.machine import Field, Guard, Machine, Rule, Scope
from ..model.properties import PROPERTIES, Property
from ..model.recorded import RECORDED_PROPERTIES, build_recorded
from ..model.step import build
from ..model.words import RulePolicy
from ..scenarios.contract_policies import CONTRACT_POLICIES
from ..scenarios.policies import POLICIES
from ..scenarios.semantics_policies import SEMANTICS_POLICIES

NAMES: Final = (*POLICIES, *CONTRACT_POLICIES, *SEMANTICS_POLICIES)
"""Every policy that has a module: all but those of several workers."""
SEMANTICS: Final[Mapping[Callable[[RulePolicy], Machine], Sequence[Property]]] = {
    build_gate: GATE_PROPERTIES,
    build_compensation: COMPENSATION_PROPERTIES,
    build_recorded: RECORDED_PROPERTIES,
}
WIDTH: Final = 110
COUNTS: Final = """\\* Counts: 2 stands for two or more. One less than that is one, or still two or more.
Inc(n) == IF n < 2 THEN n + 1 ELSE 2
Dec(n) == IF n = 2 THEN {1, 2} ELSE {0}"""


@dataclass(frozen=True)
class Module:
    """A machine and its properties, as the two files that TLC reads: `name`.tla and `name`.cfg."""

    machine: Machine
    properties: Sequence[Property]

    @cached_property
    def name(self) -> str:
        """The module's name, which its file must have."""
        return identifier(self.machine.name)

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The machine's fields, by name."""
        return self.machine.by_name

    @cached_property
    def actions(self) -> dict[str, str]:
        """The action of each rule, by the rule's name; no two are the same, nor one that of something else here."""
        taken = {"Init", "Next", "Spec", "TypeOK", "Inc", "Dec", "vars", *self.fields}
        taken |= {name for p in self.properties for name in (identifier(p.id), f"{identifier(p.id)}_steps")}
        found: dict[str, str] = {}
        for rule in self.machine.rules:
            plain = name = identifier(rule.name)
            number = 1
            while name in taken:
                number += 1
                name = f"{plain}_{number}"
            taken.add(name)
            found[rule.name] = name
        return found

    def text(self) -> str:
        """The module."""
        parts = [f"---- MODULE {self.name} ----", *self._head(), *map(self._action, self.machine.rules)]
        steps = "\n".join(f"  \\/ {self.actions[rule.name]}" for rule in self.machine.rules)
        parts += [f"Next ==\n{steps}", "Spec == Init /\\ [][Next]_vars", *self._properties(), "===="]
        return "\n\n".join(parts) + "\n"

    def configuration(self) -> str:
        """TLC's configuration: what is checked. That a run ends is no error."""
        invariants = ["TypeOK", *(identifier(p.id) for p in self.properties if p.never)]
        steps = [f"{identifier(p.id)}_steps" for p in self.properties if p.grows or p.absorbing]
        lines = ["SPECIFICATION Spec", "CHECK_DEADLOCK FALSE", *(f"INVARIANT {name}" for name in invariants)]
        return "\n".join([*lines, *(f"PROPERTY {name}" for name in steps), ""])

    def _head(self) -> Iterator[str]:
        yield f"\\* The rows of {self.machine.name!r}, written by `crashwindow export tla`: change the rows, not this file."
        yield "EXTENDS Naturals"
        width = max(map(len, self.fields))
        lines = [f"  {f.name},".ljust(width + 4) + f"\\* {f.scope.value}: {f.meaning}" for f in self.machine.fields]
        lines[-1] = lines[-1].replace(",", " ", 1)
        yield "VARIABLES\n" + "\n".join(lines)
        yield f"vars == {self._tuple(self.fields)}"
        yield COUNTS
        yield "TypeOK ==\n" + "\n".join(f"  /\\ {self._one_of(f, f.values)}" for f in self.machine.fields)
        starts = [self._one_of(f, f.starts) for f in self.machine.fields]
        starts += [f"~({self._guard(g)})" for g in self.machine.impossible]
        yield "Init ==\n" + "\n".join(f"  /\\ {start}" for start in starts)

    def _action(self, rule: Rule) -> str:
        """A rule: what it sees and meets, the guards that are tried before it, what it writes, and what stays."""
        terms = [
            self._one_of(self.fields[n], [v for v in self.fields[n].values if v in vs]) for n, vs in rule.guards.items()
        ]
        terms += [f"~({self._guard(g)})" for g in rule.unless]
        terms += [self._write(self.fields[name], write) for name, write in rule.writes.items()]
        kept = [name for name in self.fields if name not in rule.writes]
        terms += [f"UNCHANGED {self._tuple(kept)}"] if kept else []
        boundary = f"; write boundary {rule.boundary}" if rule.boundary else ""
        source = f"; {rule.source}" if rule.source else ""
        said = _comment(f"{rule.actor.value}: {rule.name}{boundary}{source}")
        return f"{said}\n{self.actions[rule.name]} ==\n" + "\n".join(f"  /\\ {term}" for term in terms)

    def _properties(self) -> Iterator[str]:
        durable = [f.name for f in self.machine.fields if f.scope is Scope.DURABLE]
        for p in self.properties:
            said = _comment(f"{p.id}: {p.title}")
            if p.never:
                lines = "\n".join(f"  /\\ ~({self._guard(g)})" for g in p.never)
                yield f"{said}\n{identifier(p.id)} ==\n{lines}"
            steps = [self._grows(self.fields[name]) for name in p.grows]
            steps += [f"({self._guard(g)}) => UNCHANGED {self._tuple(durable)}" for g in p.absorbing]
            if steps:
                lines = "\n".join(f"  /\\ {step}" for step in steps)
                yield f"{said}\n{identifier(p.id)}_step ==\n{lines}"
                yield f"{identifier(p.id)}_steps == [][{identifier(p.id)}_step]_vars"

    def _grows(self, f: Field) -> str:
        return (
            f"{f.name}' >= {f.name}" if f.count else f"({f.name} # {_value(f, f.values[0])}) => ({f.name}' = {f.name})"
        )

    def _guard(self, literals: Guard) -> str:
        fields = ((self.fields[name], values) for name, values in literals.items())
        return " /\\ ".join(self._one_of(f, [v for v in f.values if v in values]) for f, values in fields) or "TRUE"

    def _one_of(self, f: Field, values: Sequence[str]) -> str:
        if len(values) == 1:
            return f"{f.name} = {_value(f, values[0])}"
        return f"{f.name} \\in {{{', '.join(_value(f, v) for v in values)}}}"

    def _write(self, f: Field, write: str) -> str:
        if write == "+1":
            return f"{f.name}' = Inc({f.name})"
        if write == "-1":
            return f"{f.name}' \\in Dec({f.name})"
        return f"{f.name}' = {write[1:] if write.startswith('=') else _value(f, write)}"

    def _tuple(self, names: Iterable[str]) -> str:
        """A tuple of variables, over several lines where it is long."""
        lines = textwrap.wrap(", ".join(names), WIDTH - 20)
        return "<<" + "\n       ".join(lines) + ">>"


def identifier(words: str) -> str:
    """Words as a TLA+ identifier: `P1-ANY` is `P1_ANY`."""
    return re.sub(r"\W+", "_", words).strip("_")


def _value(f: Field, value: str) -> str:
    return value if f.count else f'"{value}"'


def _comment(words: str) -> str:
    return "\n".join(f"\\* {line}" for line in textwrap.wrap(words, WIDTH))


def module_of(policy: str) -> Module:
    """The module of a policy of the tool step, a contract, a gate, a compensation or a recorded value. Raises KeyError."""
    if policy in POLICIES:
        return Module(build(POLICIES[policy]), PROPERTIES)
    if policy in CONTRACT_POLICIES:
        return Module(build_contract(CONTRACT_POLICIES[policy]), CONTRACT_PROPERTIES)
    make, rules = SEMANTICS_POLICIES[policy]
    return Module(make(rules), SEMANTICS[make])


def write(module: Module, folder: Path) -> Path:
    """Write a module and its configuration; the module's file. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{module.name}.tla"
    file.write_text(module.text(), encoding="utf-8")
    file.with_suffix(".cfg").write_text(module.configuration(), encoding="utf-8")
    return file
