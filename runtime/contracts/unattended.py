"""A person's answer where nothing executes: on the command line, and on an approval page that no application serves."""

from .. import drive
from .approvals import take
from .commands import ContractPorts, Load, Snapshot
from .nodes import checkpointed
from .reasoner import ScriptedReasoner
from .release import answered, release
from .requests import job_of
from .runner import GraphRunner


def take_answer(ports: ContractPorts, session_id: str) -> bool:
    """Take the answer that was given in a session, and run no graph; False, and nothing is changed, where that needs an executor.

    A question is completed or denied, and what it deferred is freed or ended. But a tool contract that waits itself would be
    running from then on, its time limit included, so its approval is left to the runner that executes it. Raises Conflict
    when there is no answer to take. The session of a job's requests is no graph: its job is queued again.
    """
    job_id = job_of(session_id)
    if job_id is not None:
        take(ports, job_id)
        return True
    seen: Snapshot = drive.persist(Load(session_id), ports, drive.perform)
    contract, answer = answered(seen, checkpointed(seen, session_id))
    if contract.action_type == "tool_call" and answer.decision == "approve":
        return False
    # Neither tools nor a reasoner are asked for anything by `release`.
    GraphRunner(ports, {}, ScriptedReasoner(())).drive(session_id, release, 0)
    return True
