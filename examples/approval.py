"""An application whose agent sends a mail once a person has approved it.

`python approval.py` takes its session as far as it goes, and may be repeated at any time. `python approval.py serve` also serves
the approval page, on which an approval sends the mail at once.
"""

import sys
import time

from crashwindow.runtime.contracts.commands import ContractPorts
from crashwindow.runtime.contracts.reasoner import ScriptedReasoner
from crashwindow.runtime.contracts.runner import GraphRunner
from crashwindow.runtime.contracts.serve import ApprovalServer
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.records import Json
from crashwindow.runtime.registry import Registry
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.tool import ToolContext

registry = Registry()


@registry.tool(name="email.send", irreversible=True, on_unknown="park")
def send(args: Json, context: ToolContext) -> Json:
    """Sends one mail: here, a line in a file."""
    with open("outbox.txt", "a") as outbox:
        outbox.write(f"{args['to']}: {args['subject']}\n")
    return "mail sent"


# A reasoner is whatever has this one's method `decide`; this one has its decisions from a list.
reasoner = ScriptedReasoner.read(
    [
        {
            "actions": [
                {
                    "kind": "call",
                    "service": "email",
                    "method": "send",
                    "args": {"to": "bob@example.com", "subject": "Meeting"},
                },
                {"kind": "ask", "message": "Send the invitation to bob@example.com?", "defers": 0},
            ]
        },
        {"reply": "{seen}"},
    ]
)

store = SqliteStore("sessions.db")
ports = ContractPorts(store, time.sleep, SqliteContractStore(store))
runner = GraphRunner(ports, registry.tools, reasoner)
if ports.contracts.state("meeting") is None:
    state = runner.open("meeting", "Invite Bob to the meeting")
else:
    state = runner.advance("meeting")
print("meeting:", state.reply or state.status)
if sys.argv[1:] == ["serve"]:
    server = ApprovalServer(ports, continue_session=runner.resume)
    print("approvals:", server.url, flush=True)
    server.run()
store.close()
