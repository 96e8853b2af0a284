"""Which crash window a real crash has left, and what was then observed: the columns of the table that the runtime fills.

The window is found by the model's own table from the durable state that the judge described; the ambiguity class, whose
windows share their durable states, is told apart by the fault that struck.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from .crash_cases import CASES
from .crash_faults import Key
from .crash_run import Record
from .evidence import Observed
from .windows import MisfitError, class_of

AT_1C: Final = frozenset({"append_started:after", "execute:before", "append_no_effect:before", "append_no_effect:torn"})
AT_2: Final = frozenset({"execute:effect", "execute:after", "put_effect:before"})
"""Where a first crash leaves window 1c; and 2, if by then the effect has happened, which only the world's witness knows."""
AMBIGUOUS: Final = "1c"
"""The id by which `class_of` knows the ambiguity class."""


def durable_fields(job: str, step: Mapping[str, Any]) -> dict[str, str]:
    """The model's durable fields, as far as windows need them, from a described state (`crash_judge.described`)."""
    labels: list[str] = step["events"]

    def has(*wanted: str) -> bool:
        return any(label in wanted for label in labels)

    def result(found: bool) -> str:
        return "first" if found else "none"

    node = "success" if has("node_finished(side_effect_committed)") else "none"
    if has("node_finished(compensatable_failure)"):
        node = "compensatable"
    elif has("node_finished(permanent_failure)"):
        ends = {"NO_EFFECT": "no_effect", "COMMITTED": "unconfirmed"}  # a partial effect's end is in the same window
        node = ends.get(step["ledger"], "unknown")
    requeued = max((i for i, label in enumerate(labels) if label.startswith("job_requeued")), default=-1)
    last_start = max((i for i, label in enumerate(labels) if label == "tool_invocation_started"), default=-1)
    resolved = max((i for i, label in enumerate(labels) if label == "invocation_resolved(not_happened)"), default=-1)
    doubt = any(label == "tool_invocation_finished(unknown)" for label in labels[resolved + 1 :]) and step["open"] > 0
    return {
        "at": "idle",
        "job": job,
        "open": str(min(step["open"], 2)),
        "closed": "1" if has("tool_invocation_finished(no_effect)", "invocation_resolved(not_happened)") else "0",
        "doubt": "yes" if doubt else "no",
        "retry": "yes" if "retry_scheduled" in labels[last_start + 1 :] else "no",
        "finished": result(has("tool_invocation_finished(success)")),
        "committed": result(has("command_committed")),
        "resolved": result(has("invocation_resolved(happened)")),
        "node": node,
        "requeue": "due" if "node_finished(retryable_failure)" in labels[requeued + 1 :] else "none",
        "undone": "yes" if has("node_finished(compensated)") else "no",
        "cancel": "yes" if step.get("cancel_requested") else "no",
        "checkpoint": "yes" if has("state_checkpointed") else "no",
        "effect": result(step["effect_record"]),
        "ledger": (step["ledger"] or "none").lower(),
    }


def window_of(key: Key, job: str, step: Mapping[str, Any]) -> str:
    """The window in which a schedule's last crash has left a step. Raises MisfitError for a state outside the table.

    Where writes are joined, what was in the transaction is lost with it: a fault there does not tell what it has left.
    """
    found = class_of(durable_fields(job, step))
    if found != AMBIGUOUS:
        return found
    first = key.schedule[0]
    joined = key.case in CASES and CASES[key.case].joined and first.boundary != "execute"
    if len(key.schedule) > 1 or step["open"] != 1 or joined:
        return "2x"
    fault = f"{first.boundary}:{first.when}"
    return "1c" if fault in AT_1C else "2" if fault in AT_2 and step["effects"] else "2x"


def observe(records: Iterable[Record]) -> tuple[dict[str, Observed], list[str]]:
    """The observed columns of the crash-window table, by window: one count for each step of each crashed schedule.

    Beside them, the misfits: schedules that left a state which the table does not have, each with its replay key.
    """
    tally: dict[str, dict[str, Counter[str]]] = {}
    crashes, killed = Counter[str](), Counter[str]()
    misfits = []
    for record in records:
        if record.error or record.at_crash is None:
            continue
        for step in record.at_crash["steps"].values():
            try:
                window = window_of(record.key, record.at_crash["job"], step)
            except MisfitError as error:
                misfits.append(f"{record.key}: {error}")
                continue
            crashes[window] += 1
            killed[window] += record.by == "SIGKILL"
            columns = tally.setdefault(window, {"at_crash": Counter(), "recovery": Counter(), "in_end": Counter()})
            columns["at_crash"][str(step["effects"])] += 1
            if len(record.at_crash["steps"]) == 1:
                columns["recovery"][record.first or "nothing"] += 1
                columns["in_end"][record.outcome] += 1
    observed = {
        window: Observed(
            crashes=crashes[window],
            killed=killed[window],
            **{name: dict(counter.most_common()) for name, counter in columns.items()},
        )
        for window, columns in sorted(tally.items())
    }
    return observed, misfits
