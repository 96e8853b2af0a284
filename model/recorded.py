"""Recorded values, as rows: the answer of a language model, or an input such as the time (E-LLM, E-INPUTS; P12).

How to read it. A value is asked of the world, which answers `first` or `other` as it likes, each time anew. The answer of a
language model is recorded in two phases, effect record and `command_committed`, then its node is finished; an input has the one
write `command_committed`, in the middle of its step. Then a tool step uses the value: the one that starts next, whose arguments
may depend on it, or the one that asked for the input and is handed it. So another value is another effect. Under one key the
step's own protocol (`model/step.py`) keeps its effect at most once; that two keys are two effects nobody can mend. A worker may
crash at any place, without limit, and loses what it has in memory (A-ONE-WORKER). A write whose answer was lost has landed.

What a rule changes when it is off. L-RECORD: the value is used first and recorded afterwards. L-INJECT: a replay asks again for
what the events hold. L-CATCHUP: where the events hold nothing the effect record is not looked for. L-RETRY: after a lost answer
of a write the value is asked for again, instead of the same write being repeated from memory.
"""

from collections.abc import Iterator
from typing import Final

from .machine import Actor, Field, Machine, Rule, Scope, first_match, guard
from .properties import Property
from .words import NO_YES, RulePolicy, clauses, row, words

RECORDED_RULES: Final = {
    "L-RECORD": "a value is durable before anything uses it",
    "L-INJECT": "what the events hold is injected, and not asked for",
    "L-CATCHUP": "an effect record without its event is caught up, and not asked for",
    "L-RETRY": "a write without a definite answer is repeated from memory",
}
HARDENED_RECORDED: Final = RulePolicy("recorded-hardened", frozenset(RECORDED_RULES))

VALUES: Final = ("first", "other")
SET: Final = "first|other"
_VALUE: Final = ("none", *VALUES)
PLACES: Final = (
    "idle",
    "replay",
    "ask",
    "put_effect",
    "append_committed",
    "append_node",
    "use",
    "await",
    "append_terminal",
)
AT_WORK: Final = "|".join(place for place in PLACES if place != "idle")

FIELDS: Final = (
    Field("kind", Scope.CONFIG, ("llm", "input"), "the answer of a language model (two writes), or an input (one write)",
          ("llm", "input")),
    Field("job", Scope.DURABLE, ("open", "completed"), "status of the job"),
    Field("effect", Scope.DURABLE, _VALUE, "the effect record"),
    Field("committed", Scope.DURABLE, _VALUE, "the command_committed event"),
    Field("node", Scope.DURABLE, NO_YES, "the node_finished event of the language model's node"),
    Field("first_used", Scope.DURABLE, NO_YES, "a step that uses the first value has started"),
    Field("other_used", Scope.DURABLE, NO_YES, "a step that uses the other value has started"),
    Field("at", Scope.VOLATILE, PLACES, "the worker's place"),
    Field("memory", Scope.VOLATILE, _VALUE, "the value that the worker holds"),
    Field("first_done", Scope.WORLD, NO_YES, "the effect of a step that uses the first value"),
    Field("other_done", Scope.WORLD, NO_YES, "the effect of a step that uses the other value"),
    Field("effects", Scope.WORLD, ("0", "1", "2"), "how many effects the world has seen", count=True),
    Field("asked", Scope.GHOST, ("0", "1", "2"), "how often the world was asked for the value", count=True),
)  # fmt: skip


def build_recorded(policy: RulePolicy = HARDENED_RECORDED) -> Machine:
    """The machine of a recorded value under a policy."""
    on = policy.rules
    parts = (_claim(), first_match(list(_replay(on))), _ask(on), _write(on), _use(on), _crash())
    return Machine(policy.name, FIELDS, tuple(rule for part in parts for rule in part))


def _claim() -> Iterator[Rule]:
    yield row("claim", Actor.WORKER, "at:idle job:open", "at:replay", boundary="claim", source="T-WORKER")


def _replay(on: frozenset[str]) -> Iterator[Rule]:
    """What is on record, first match wins: the event, the effect record, and only then the world is asked."""

    def inject(record: str, value: str, leads: str, sees: str, source: str) -> Rule:
        return row(f"replay: inject the {record}, {value}, then {leads}", Actor.WORKER, f"at:replay {record}:{value} {sees}",
                   f"memory:{value} at:{leads}", source=source)  # fmt: skip

    for value in VALUES:
        if "L-INJECT" in on:
            yield inject("committed", value, "append_node", "kind:llm node:no", "L-INJECT")
            yield inject("committed", value, "use", "", "L-INJECT")
        if "L-CATCHUP" in on:
            yield inject("effect", value, "append_committed", "", "L-CATCHUP")
    yield row("replay: nothing is recorded", Actor.WORKER, "at:replay", "at:ask", source="E-LLM")


def _ask(on: frozenset[str]) -> Iterator[Rule]:
    """The world answers as it likes."""
    for kind, write, boundary in (("llm", "put_effect", "call_model"), ("input", "append_committed", None)):
        leads = write if "L-RECORD" in on else "use"
        for value in VALUES:
            yield row(f"{kind}: the {value} answer", Actor.WORKER, f"at:ask kind:{kind}", f"memory:{value} asked:+1 at:{leads}",
                      boundary=boundary, source="E-LLM, E-INPUTS")  # fmt: skip


def _write(on: frozenset[str]) -> Iterator[Rule]:
    """The record, in T-ORDER. A write whose answer was lost has landed, and is made again; or (L-RETRY) the world is."""
    lost = "" if "L-RETRY" in on else " at:ask memory:none"
    used = "use" if "L-RECORD" in on else "append_terminal"
    for value, other in (VALUES, VALUES[::-1]):
        put, commit = f"at:put_effect memory:{value}", f"at:append_committed memory:{value}"
        yield row(f"put effect, {value}", Actor.WORKER, put, f"effect:{value} at:append_committed", boundary="put_effect",
                  source="T-ORDER B4")  # fmt: skip
        yield row(f"put effect, {value} (answer lost)", Actor.WORKER, put, f"effect:{value}{lost}", boundary="put_effect",
                  source="T-WRITE")  # fmt: skip
        for kind, boundary, leads in (("llm", "append_committed", "append_node"), ("input", "record_input", used)):
            name, sees = f"append committed, {kind}, {value}", f"{commit} kind:{kind} committed:none|{other}"
            yield row(name, Actor.WORKER, sees, f"committed:{value} at:{leads}", boundary=boundary,
                      emits=("command_committed",), source="T-ORDER B6, E-INPUTS")  # fmt: skip
            yield row(f"{name} (answer lost)", Actor.WORKER, sees, f"committed:{value}{lost}", boundary=boundary,
                      emits=("command_committed",), source="T-WRITE")  # fmt: skip
            yield row(f"{name} (it has landed)", Actor.WORKER, f"{commit} kind:{kind} committed:{value}", f"at:{leads}",
                      boundary=boundary, source="T-WRITE")  # fmt: skip
    yield row("append node finished", Actor.WORKER, "at:append_node", f"node:yes at:{used}", boundary="append_node_finished",
              emits=("node_finished",), source="T-ORDER B8")  # fmt: skip


def _use(on: frozenset[str]) -> Iterator[Rule]:
    """The step that uses the value: its started event, its effect, at most one per key; then the job ends."""
    for value in VALUES:
        yield row(f"use the {value} value", Actor.WORKER, f"at:use kind:llm memory:{value}", f"{value}_used:yes at:await",
                  boundary="append_started", emits=("tool_invocation_started",), source="L-RECORD")  # fmt: skip
        yield row(f"hand the {value} value over", Actor.WORKER, f"at:use kind:input memory:{value}", f"{value}_used:yes at:await",
                  source="L-RECORD")  # fmt: skip
        yield row(f"the step with the {value} value acts", Actor.WORLD, f"{value}_used:yes", f"{value}_done:yes effects:+1",
                  meets=f"{value}_done:no")  # fmt: skip
        for kind, write in (("llm", "put_effect"), ("input", "append_committed")):
            leads = "append_terminal" if "L-RECORD" in on else write
            yield row(f"{kind}: the step with the {value} value ends", Actor.WORKER, f"at:await memory:{value} kind:{kind}",
                      f"at:{leads}", meets=f"{value}_done:yes", source="T-RECOVER")  # fmt: skip
    yield row("append job_completed", Actor.WORKER, "at:append_terminal", "job:completed at:idle memory:none",
              boundary="append_completed", emits=("job_completed",), source="T-ORDER B10")  # fmt: skip


def _crash() -> Iterator[Rule]:
    yield row("crash", Actor.CRASH, f"at:{AT_WORK}", "at:idle memory:none")


RECORDED_PROPERTIES: Final = (
    Property(
        "P12",
        "Once a value is recorded it is the value: it is injected, it never changes, and nobody is asked for it again.",
        never=(
            words(f"at:ask committed:{SET}"),
            words(f"at:ask effect:{SET}"),
            words("effect:first committed:other"),
            words("effect:other committed:first"),
            words("at:use|await|append_node|append_terminal memory:first committed:other"),
            words("at:use|await|append_node|append_terminal memory:other committed:first"),
        ),
        grows=("effect", "committed", "node", "first_used", "other_used"),
        occurs=(
            guard(kind="llm", at="append_committed", effect="first", asked="1", committed="none"),
            guard(kind="llm", at="use", memory="first", asked="1"),
            guard(kind="input", at="use", memory="other", asked="2"),
            guard(kind="llm", at="replay", effect="none", asked="2"),
        ),
    ),
    Property(
        "P12-BEFORE-USE",
        "Nothing uses a value that is not durable.",
        never=(
            words("at:use|await committed:none"),
            words("first_used:yes committed:none|other"),
            words("other_used:yes committed:none|first"),
        ),
        occurs=(guard(first_used="yes", at="replay"), guard(kind="llm", at="await", memory="other")),
    ),
    Property(
        "P12-ONE-EFFECT",
        "What depends on a value happens once: a crash never leads to a second effect, with another value.",
        never=(words("effects:2"), words("job:completed effects:0|2")),
        occurs=(
            guard(kind="llm", job="completed", other_used="yes"),
            guard(kind="input", job="completed", effects="1"),
            guard(effects="1", at="replay", asked="2"),
        ),
    ),
)

RECORDED_SENTENCES: Final = (
    Property(
        "ASKED-ONCE",
        "A value is asked of the world at most once.",
        never=(words("asked:2"),),
        occurs=(words("asked:1"),),
    ),
)
"""S4's sentence about every logical step, for a language model's."""

RECORDED_INVARIANT: Final = (
    *clauses(
        "L-RETRY, L-CATCHUP, L-INJECT: what is held in memory on the way to a record is what is recorded, if anything is",
        {
            "the first answer is put where no other is": "at:put_effect memory:first effect:other",
            "the other answer is put where no first is": "at:put_effect memory:other effect:first",
            "an effect record comes before its event": f"at:put_effect committed:{SET}",
            "the first answer is committed where no other is": "at:append_committed memory:first committed:other",
            "the other answer is committed where no first is": "at:append_committed memory:other committed:first",
            "the first answer is committed over its own record": "at:append_committed memory:first effect:other",
            "the other answer is committed over its own record": "at:append_committed memory:other effect:first",
        },
    ),
    *clauses(
        "L-RECORD: the event comes before every use",
        {
            "a node is finished after the event": "at:append_node committed:none",
        },
    ),
    *clauses(
        "the step's own protocol: at most one effect under each key",
        {
            "no effect is counted that did not happen": "first_done:no other_done:no effects:1",
            "the first effect is counted": "first_done:yes effects:0",
            "the other effect is counted": "other_done:yes effects:0",
            "the first effect has its step": "first_done:yes first_used:no",
            "the other effect has its step": "other_done:yes other_used:no",
            "a job ends after the effect": "at:append_terminal effects:0",
        },
    ),
)
"""With the properties' own guards inductive, for any number of crashes and answers."""
