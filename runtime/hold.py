"""What a worker knows of the lease of one turn: shared by the turn, the heartbeat beside it, and whoever asks it to let go."""

import math
import threading
from collections.abc import Callable

from .records import Lease
from .store import StaleEpoch


class Hold:
    """The lease of one turn, as far as its worker knows: never longer than the store has it (T-QUIET).

    Safe between threads. The turn takes the lease and looks at it; the heartbeat renews it; a stop asks the turn to let go.
    patience: the longest pause that the turn makes with its lease held, in seconds; asked before a pause and after it.
    wary: whether the turn lets go of a suspect (`drive.SuspectError`).
    insists: asked with the boundary of a write that carries an answer: whether it is repeated beyond its budget once more
    (decision 027). Not where somebody waits for the end of the turn, and has to be told what is wrong.
    """

    def __init__(
        self,
        patience: Callable[[], float] = lambda: math.inf,
        wary: bool = False,
        insists: Callable[[str], bool] = lambda boundary: True,
    ) -> None:
        self.patience, self.wary, self.insists = patience, wary, insists
        self._lock = threading.Lock()
        self._renewing = threading.Lock()
        self._lease: Lease | None = None
        self._lost: str | None = None
        self._over = False
        self.let_go = False
        """Whether the turn is asked to let go of its job before it begins anything further."""

    @property
    def lease(self) -> Lease | None:
        """The newest that is known of the lease, lost or not; None before a job is claimed."""
        with self._lock:
            return self._lease

    def current(self) -> Lease | None:
        """The lease to work under; None before a job is claimed. Raises StaleEpoch when it is known to be lost."""
        with self._lock:
            if self._lost is not None:
                raise StaleEpoch(self._lost)
            return self._lease

    def take(self, lease: Lease) -> Lease:
        """Note a lease that the store has given or renewed; the newest that is known."""
        with self._lock:
            held = self._lease
            if held is not None and held.epoch == lease.epoch and held.expires_at > lease.expires_at:
                # Turn and heartbeat may renew at the same time: the store keeps the later expiry, and so does this.
                lease = lease._replace(expires_at=held.expires_at)
            self._lease = lease
            return lease

    def renew(self, ask: Callable[[Lease], Lease]) -> bool:
        """Renew the lease by `ask`, while there is one and the turn is not over; False when it was lost. Raises StoreError."""
        with self._renewing:
            lease = self.lease
            if lease is None or self._over or self._lost is not None:
                return True
            try:
                self.take(ask(lease))
            except StaleEpoch as error:
                with self._lock:
                    self._lost = str(error)
                return False
            return True

    def end(self) -> None:
        """The turn is over: from here on nothing renews its lease, not even a renewal that was under way."""
        with self._renewing:
            self._over = True
