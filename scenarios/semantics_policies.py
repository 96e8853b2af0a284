"""Gate, compensation and recorded value: hardened, hardened without each single rule, and as the seeds have it; for checkers."""

from collections.abc import Callable
from typing import Final

from ..model.compensation import COMPENSATION_RULES, HARDENED_COMPENSATION, IDEMPOTENT, build_compensation
from ..model.gate import GATE_RULES, HARDENED_GATE, build_gate
from ..model.machine import Machine
from ..model.recorded import HARDENED_RECORDED, RECORDED_RULES, build_recorded
from ..model.words import RulePolicy

# S2, Compensation API: for committed effects, deduplicated by events and records; step_compensated follows the call.
AS_WRITTEN: Final = HARDENED_COMPENSATION.rules - {"K-BARRIER", "K-TRUTH"}


def without(hardened: RulePolicy, rule: str) -> RulePolicy:
    """A hardened machine with one rule switched off."""
    return RulePolicy(f"{hardened.name.removesuffix('-hardened')}-without-{rule}", hardened.rules - {rule})


_BY_BUILDER: Final[tuple[tuple[Callable[[RulePolicy], Machine], tuple[RulePolicy, ...]], ...]] = (
    (
        build_gate,
        (
            HARDENED_GATE,
            *(without(HARDENED_GATE, rule) for rule in GATE_RULES),
            # S1 §5: the job is parked and goes on when it is signalled; nothing is said of a record, a digest or a denial.
            RulePolicy("gate-as-written", frozenset({"G-SIGNAL", "G-ASK"})),
        ),
    ),
    (
        build_compensation,
        (
            HARDENED_COMPENSATION,
            *(without(HARDENED_COMPENSATION, rule) for rule in COMPENSATION_RULES),
            RulePolicy("compensation-as-written", AS_WRITTEN),
            # S2: "should be idempotent", taken at its word.
            RulePolicy("compensation-as-written-idempotent", AS_WRITTEN | {IDEMPOTENT}),
            # S2's gloss: committed is what has a tool_invocation_finished event, and every outcome has one.
            RulePolicy("compensation-as-written-finished", AS_WRITTEN - {"K-COMMITTED"}),
        ),
    ),
    (
        build_recorded,
        (HARDENED_RECORDED, *(without(HARDENED_RECORDED, rule) for rule in RECORDED_RULES)),
    ),
)

SEMANTICS_POLICIES: Final = {policy.name: (build, policy) for build, policies in _BY_BUILDER for policy in policies}
"""Builder and policy of every machine, by the policy's name."""
