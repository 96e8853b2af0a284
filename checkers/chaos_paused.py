"""A process that a chaos campaign has stopped, or holds, and what it waits for."""

from collections.abc import Container
from dataclasses import dataclass

from ..runtime.store import StoreError
from .chaos_faults import Fault
from .chaos_fleet import Slot
from .chaos_records import Site


@dataclass
class Paused:
    """A process that is stopped at a moment, until others have done what it waits for, or for too long.

    token: of the errand that is done meanwhile.
    """

    slot: Slot
    fault: Fault
    job_id: str
    epoch: int
    version: int
    since: float
    token: str = ""

    def over(self, site: Site, errands: Container[str]) -> bool:
        """Whether others have done what is waited for. errands: the tokens of those that have ended."""
        try:
            match self.fault.until:
                case "taken over":
                    return site.lease(self.job_id).epoch > self.epoch
                case "said":
                    return self.token in errands
                case "written":
                    return site.version(self.job_id)[1] > self.version
                case "started":
                    return site.newest(self.job_id) == "tool_invocation_started"
                case "fenced":  # whoever reads the stream is struck: see `_note_fence`
                    return False
            return site.version(self.job_id)[0] == self.fault.until
        except (StoreError, ValueError):
            return False
