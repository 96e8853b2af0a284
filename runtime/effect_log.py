"""The effect log of a job: a view over its events, one entry per effect, in their order (E-EFFECTLOG; S4 §2).

It is computed when somebody asks, and nothing that runs depends on it. S4 §2.1 lists every `command_committed` and every
`tool_invocation_finished`, so it has two entries for each tool call, and one for an attempt that provably did nothing.
Here an effect enters the log with the first event that says that it happened; what is not known to have happened is not in it.
"""

from collections.abc import Iterable
from typing import NamedTuple

from .canonical import digest
from .history import undoing
from .records import EffectKind, Event


class LoggedEffect(NamedTuple):
    """One effect. step_index: the step's place in the plan's order of execution, from 0.

    input_hash, output_hash: SHA-256 of the canonical JSON of what went in and what came out. created_at, version: the time (in
    seconds) and the number of the event that said first that it happened.
    """

    job_id: str
    step_index: int
    command_id: str
    kind: EffectKind
    input_hash: str
    output_hash: str
    created_at: float
    version: int


def effect_log(job_id: str, events: Iterable[Event]) -> list[LoggedEffect]:
    """The job's effects. Raises KeyError for an event that is not as this runtime writes it."""
    log: dict[tuple[str, str], LoggedEffect] = {}
    places: dict[str, int] = {}
    begun: dict[str, str] = {}
    for event in events:
        if event.type == "plan_generated":
            places = {node["id"]: index for index, node in enumerate(event.data["plan"]["nodes"])}
        if event.step is None:
            continue
        command = event.data.get("command_id", f"{event.step}#compensation" if undoing(event) else event.step)
        if "args_hash" in event.data:
            begun[command] = event.data["args_hash"]
        if not _happened(event):
            continue
        index, kind = places[event.step], event.data.get("kind", "tool")
        output = event.data.get("output_hash") or digest(event.data["result"])
        given = event.data.get("input_hash") or begun[command]
        entry = LoggedEffect(job_id, index, command, kind, given, output, event.at, event.version)
        log.setdefault((event.step, command), entry)
    return list(log.values())


def _happened(event: Event) -> bool:
    """Whether an event says that an effect happened."""
    match event.type:
        case "command_committed":
            return True
        case "tool_invocation_finished" | "step_compensated":
            return bool(event.data["outcome"] == "success")
        case "invocation_resolved":
            return bool(event.data["answer"] == "happened")
        case _:
            return False
