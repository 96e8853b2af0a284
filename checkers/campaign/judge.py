"""What became of a job that was struck: the lines of the world, beside those of a control run, and what the record says.

The rules are read from above; the first that fits is the outcome. Nothing of a runtime is known here.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..evidence_matrix import Told
from ..evidence_outcome import UNJUDGED, Outcome
from .adapter import Belief
from .visible import denied
from .world import Effect, counts


class Verdict(NamedTuple):
    """An outcome, and why, in words."""

    outcome: Outcome
    words: str


def judge(
    steps: Sequence[str], control: Mapping[str, int], effects: list[Effect], belief: Belief, accepted: bool = True
) -> Verdict:
    """The outcome of one run, after the last recovery. accepted: whether the client was told that the job is."""
    seen = counts(effects)
    doubled = [step for step in seen if seen[step] > control.get(step, 0)]
    missing = [step for step in control if seen.get(step, 0) < control[step]]
    if doubled:
        words = ", ".join(f"{step} {seen[step]} times instead of {control.get(step, 0)}" for step in doubled)
        return Verdict(Outcome.DUPLICATE, words)
    if belief.status == "completed" and missing:
        never = ", ".join(step for step in missing if not seen.get(step))
        fewer = [f"{step} {seen[step]} times instead of {control[step]}" for step in missing if seen.get(step)]
        words = ", ".join([*([f"{never} never happened"] if never else []), *fewer])
        return Verdict(Outcome.LOST_EFFECT, f"completed, and {words}")
    if wrong := contradictions(steps, effects, belief):
        return Verdict(Outcome.DISHONEST, "; ".join(wrong))
    happened = f"{sum(seen.values())} of {sum(control.values())} effects"
    match belief.status:
        case "absent" if not accepted:
            words = f"the record knows no such job, and nobody was told that it is accepted; the world has {happened}"
            return Verdict(Outcome.STUCK, words)
        case "absent":
            return Verdict(Outcome.LOST_WORK, f"the record knows no such job; the world has {happened}")
        case "running":
            return Verdict(Outcome.STUCK, f"still running after recovery; the world has {happened}")
        case "failed":
            return Verdict(Outcome.FALSE_FAILURE, f"failed; the world has {happened}")
        case "unknown":
            return Verdict(Outcome.HONEST_UNKNOWN, f"the record says that it does not know; the world has {happened}")
        case "completed":
            return Verdict(Outcome.EXACTLY_ONCE, f"completed; the world has {happened}")


class Struck(NamedTuple):
    """What was done to the processes of a run. last: the steps that had acted last when one died, or that a paused one was in.

    settled: of the steps that the record had as done when one had died, how often each had acted. paused: whether one was woken.
    power: whether it was the power that failed.
    """

    last: frozenset[str] = frozenset()
    settled: Mapping[str, int] = {}
    paused: bool = False
    power: bool = False


def keeps(promise: Told, verdict: Verdict, control: Mapping[str, int], effects: list[Effect], struck: Struck) -> bool:
    """Whether an outcome is what the runtime's documentation allows, or what it does not speak of."""
    if verdict.outcome in UNJUDGED:
        return False
    if (struck.paused and not promise.pauses) or (struck.power and not promise.power):
        return True
    if verdict.outcome is Outcome.DUPLICATE and promise.last_only:
        seen = counts(effects)
        doubled = {step for step in seen if seen[step] > control.get(step, 0)}
        again = {step for step in doubled if seen[step] > struck.settled.get(step, seen[step])}
        return Outcome.DUPLICATE in promise.allows and doubled <= struck.last and not again
    return verdict.outcome in {Outcome.EXACTLY_ONCE, *promise.allows}


def contradictions(steps: Sequence[str], effects: list[Effect], belief: Belief) -> list[str]:
    """What the record says of single effects that the world contradicts."""
    seen = counts(effects)
    wrong = []
    for step, known in belief.steps.items():
        if known == "done" and not seen.get(step):
            wrong.append(f"the record has {step} as done, and it never happened")
        if known == "not done" and seen.get(step):
            wrong.append(f"the record has {step} as not done, and it happened")
        if known == "unknown" and belief.status == "completed":
            wrong.append(f"the record has the job as completed, and does not know of {step}")
    answers: dict[str, list[object]] = {}
    for effect in effects:
        answers.setdefault(effect.step, []).append(effect.result)
    wrong += [
        f"the record has {result!r} as the result of {step}, which no effect answered"
        for step, result in belief.results.items()
        if result not in answers.get(step, [])
    ]
    if denied(belief, steps, seen):
        wrong.append("the record has the job as failed, and every effect happened")
    return wrong
