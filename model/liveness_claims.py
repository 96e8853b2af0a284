"""The claims about liveness (P15): of each machine under every assumption, and, as written, without one of them."""

from typing import Final

from .claim_types import Assumption, Citation, Claim
from .liveness import FAIR_WORKER, FAIR_WORLD, FINITE_FAULTS, LOOKS, RECLAIMS, RESEND, RETRIES, STEP_ENDS

LIVENESS_ASSUMPTIONS: Final = (
    Assumption(FINITE_FAULTS, "From some moment on no process is killed, or stops for ever, and no answer of a store is lost.", "whoever runs the workers"),
    Assumption(RECLAIMS, "From some moment on no lease runs out while its holder works: it is renewed in time.",
               "runtime.heartbeat; whoever sets the lease's length and runs the machines"),
    Assumption(RETRIES, "A step is retried, re-executed and requeued a bounded number of times.", "the plan's max_attempts; runtime.protocol counts the events"),
    Assumption(LOOKS, "A verifier is asked a bounded number of times for one confirmation, and a worker reads the stream again in the middle of a turn "
               "only after a client's event.", "whoever configures the verifiers; runtime.turn"),
    Assumption(FAIR_WORKER, "Some worker is there that claims what is open, and one that has claimed takes its next step, as whoever only decides does; a "
               "request that gets no answer is given up after a time.", "whoever runs the workers; a time limit of every tool"),
    Assumption(FAIR_WORLD, "What the step that uses a value sends is served some day.", "the tool"),
    Assumption(STEP_ENDS, "The step behind an interface gets an outcome: by its own P15, and by a person's answer where it is parked.",
               "P15; whoever answers"),
)  # fmt: skip

_CITED: Final = Citation("S1", "2", (30, 30), "615062a46ccd74d6c879e4781630eaf112480c2516bb2726ddb607903941d259")
_STEP: Final = (FINITE_FAULTS, RETRIES, LOOKS, FAIR_WORKER)
_GATE: Final = (FINITE_FAULTS, FAIR_WORKER, RESEND)
_COMPENSATION: Final = (FINITE_FAULTS, RETRIES, FAIR_WORKER, STEP_ENDS)
_RECORDED: Final = (FINITE_FAULTS, FAIR_WORKER, FAIR_WORLD)
_CONTRACT: Final = (FINITE_FAULTS, RETRIES, FAIR_WORKER, STEP_ENDS)
_FLEET: Final = (FINITE_FAULTS, RECLAIMS, RETRIES, LOOKS, FAIR_WORKER)
_ONE: Final = "A-ONE-WORKER"


def _live(name: str, policy: str, needed: tuple[str, ...], sentence: str) -> Claim:
    requirement = "T-PROP P15"
    return Claim(
        name, "hardened", sentence, (_CITED,), requirement, policy, "live", (), needed, ("explore",), "EXHAUSTED"
    )


def _without(missed: str, beside: str, policy: str, needed: tuple[str, ...], sentence: str) -> Claim:
    """The same machine without one of the assumptions: there is a run that never comes to rest."""
    left = tuple(a for a in needed if a != missed)
    return Claim(
        f"NO-{missed[2:]}",
        "as_written",
        sentence,
        (_CITED,),
        "T-PROP P15",
        policy,
        "live",
        (),
        left,
        ("explore",),
        "REFUTED",
        beside,
    )


LIVENESS_REASONS: Final = {
    "P15-ANY": "not checked: P15 is searched for one worker and for two; for any number it would need a proved rank, and there is none",
}
"""Why a claim is not checked."""

LIVENESS_CLAIMS: Final = (
    _live("P15", "hardened", (*_STEP, _ONE), "With finitely many faults every job comes to rest: completed, failed, cancelled, waiting or parked."),
    _live("P15-GATE", "gate-hardened", (*_GATE, _ONE), "With finitely many faults a job with a gate ends, or waits for somebody who has not answered yet; no "
          "answer is waited for that was given."),
    _live("P15-COMPENSATION", "compensation-hardened", (*_COMPENSATION, _ONE), "With finitely many faults a job with a compensation ends or is parked."),
    _live("P15-RECORDED", "recorded-hardened", (*_RECORDED, _ONE), "With finitely many faults a job that asks for a value comes to its end."),
    _live("P15-CONTRACT", "contract-hardened", _CONTRACT, "With finitely many faults an execution contract ends, or it or its request waits for a person."),
    _live("P15-TWO", "fleet", _FLEET, "With finitely many faults, expiries included, a job that two workers may claim comes to rest, though an overtaken one may "
          "be paused for ever."),
    Claim("P15-ANY", "hardened", "With finitely many faults every job comes to rest, however many workers there are.", (_CITED,), "T-PROP P15", "fleet",
          "unchecked", (), _FLEET, (), "NOT CHECKED"),
    _without(FINITE_FAULTS, "P15", "hardened", _STEP, "Recovery always ends, however often workers crash."),
    _without(RETRIES, "P15", "hardened", _STEP, "A step that is tried again after every proven no-effect ends some day."),
    _without(LOOKS, "P15", "hardened", _STEP, "A turn ends some day, however often its verifier is asked and the stream is read again."),
    _without(FAIR_WORKER, "P15", "hardened", _STEP, "A job comes to rest by itself."),
    _without(RESEND, "P15-GATE", "gate-hardened", _GATE, "A decision that is on record reaches its job without being signalled again."),
    _without(STEP_ENDS, "P15-COMPENSATION", "compensation-hardened", _COMPENSATION, "A job with a compensation ends, whatever becomes of the step."),
    _without(FAIR_WORLD, "P15-RECORDED", "recorded-hardened", _RECORDED, "A job ends though the step that uses its value gets no answer."),
    _without(RECLAIMS, "P15-TWO", "fleet", _FLEET, "Two workers that take a job from each other bring it to rest, fences and appends being what they are."),
)  # fmt: skip
