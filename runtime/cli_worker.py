"""The command that works: `crashwindow worker`. It takes the parsed arguments and returns the exit code."""

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

from .cli_common import opened, registry_of
from .errors import CommandError
from .plain import plain
from .store import Store, StoreError, StoreUnusableError

if TYPE_CHECKING:
    from .telemetry import Observer
    from .telemetry_metrics import Metrics
    from .workers import Pace, Workers

COMPLETED, ABANDONED, BAD_INPUT = 0, 1, 2
SHORTEST_LEASE: Final = 1.0
"""Seconds: a commit on a busy disk takes tenths of one, and a lease has to outlast several, and a heartbeat that comes late; one
that ends between the barrier and the request parks the job, unexecuted."""
LONGEST: Final = 1e6
"""Seconds, some eleven days: more of a lease, a poll or a grace is a mistake, and infinity ends the threads that wait for it."""
MOST: Final = 1000
"""Threads of one process: where there is work for more, start more processes."""
log = logging.getLogger(__name__)
LOGGERS: Final = ("shift", "worker", "workers", "heartbeat", "telemetry")


def worker(args: argparse.Namespace) -> int:
    """Run the open jobs of a store, those that a worker left when it crashed included."""
    from .stop import Stop
    from .worker import work_once, work_until_idle
    from .workers import Workers

    pace = _pace(args)
    registry = registry_of(args.tools)
    with opened(args.store) as store:
        log_to_stderr(args.log)
        stop = Stop()
        stop.on_signals(*([_json_line] if args.log == "json" else []))
        metrics = _metrics(args)
        with _observer(args, metrics) as observer:
            if args.once:
                left = work_once(store, registry, stop=stop, ttl=pace.ttl, observer=observer, joined=pace.joined)
                return BAD_INPUT if left else COMPLETED
            if args.until_idle:
                left = work_until_idle(store, registry, stop=stop, ttl=pace.ttl, observer=observer, joined=pace.joined)
                return BAD_INPUT if left else COMPLETED
            workers = Workers(store, registry, stop, pace, observer=observer)
            with _health(args, store, workers, metrics):
                return _work(workers)


def log_to_stderr(form: Literal["text", "json"]) -> None:
    """What workers have to say while they work: words for people, or a line of JSON for each boundary as well."""
    from .telemetry import JsonLines

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    for name in LOGGERS:
        logging.getLogger(f"{__package__}.{name}").setLevel(logging.INFO)


def _json_line(words: str) -> str:
    """What is said outside of logging, as the log's own lines are."""
    return json.dumps({"at": time.time(), "level": "WARNING", "message": words}) + "\n"


def _work(workers: "Workers") -> int:
    """Work until asked to stop."""
    abandoned = workers.run()
    if abandoned:
        # Without closing anything: until this process is gone its requests may still be sent, and its locks say so.
        log.error("the grace is over and tools still run; left as by a crash: %s", ", ".join(map(plain, abandoned)))
        os._exit(ABANDONED)
    return COMPLETED


def _pace(args: argparse.Namespace) -> "Pace":
    """How to work; CommandError for what cannot be."""
    from .workers import Pace

    if not 0 < args.poll <= LONGEST:
        raise CommandError(f"--poll {args.poll}: give a number of seconds above 0, up to {LONGEST:.0f}")
    if not SHORTEST_LEASE <= args.ttl <= LONGEST:
        raise CommandError(
            f"--ttl {args.ttl}: give a number of seconds, {SHORTEST_LEASE:g} to {LONGEST:.0f}; a lease has to outlast several"
            " writes of the store, or jobs park unexecuted"
        )
    if not 0 <= args.grace <= LONGEST:
        raise CommandError(f"--grace {args.grace}: give a number of seconds, 0 to {LONGEST:.0f}")
    if not 1 <= args.concurrency <= MOST:
        raise CommandError(f"--concurrency {args.concurrency}: give a number of threads, 1 to {MOST}")
    if (args.once or args.until_idle) and (args.concurrency > 1 or args.health):
        raise CommandError("--once and --until-idle work alone: without --concurrency and --health")
    if args.metrics and not args.health:
        raise CommandError("--metrics needs --health HOST:PORT: they are served there, at /metrics")
    return Pace(args.concurrency, args.poll, args.ttl, args.grace, args.joined)


def _metrics(args: argparse.Namespace) -> "Metrics | None":
    """The counters, if they were asked for; CommandError when the extra is not installed."""
    if not args.metrics:
        return None
    try:
        from .telemetry_metrics import Metrics
    except ImportError as error:
        raise CommandError(f"--metrics: {error}; install the extra: pip install 'crashwindow[metrics]'") from error
    return Metrics()


@contextmanager
def _observer(args: argparse.Namespace, metrics: "Metrics | None") -> Iterator["Observer"]:
    """Whoever was asked for, told of every turn and boundary."""
    from .telemetry import BoundaryLog, Observers

    observers: list[Observer] = [BoundaryLog()] if args.log == "json" else []
    if metrics:
        observers.append(metrics)
    if not args.spans:
        yield Observers(observers)
        return
    try:
        from .telemetry_spans import Spans, exported
    except ImportError as error:
        raise CommandError(f"--spans: {error}; install the extra: pip install 'crashwindow[otel]'") from error
    with exported() as provider:
        yield Observers([*observers, Spans(provider)])


@contextmanager
def _health(args: argparse.Namespace, store: Store, workers: "Workers", metrics: "Metrics | None") -> Iterator[None]:
    """The health endpoint, if it was asked for; CommandError for an address that cannot be taken."""
    if args.health is None:
        yield
        return
    from .health import Health, address_of

    def ready() -> str | None:
        if workers.stopping:
            return "stopping"
        try:
            store.open_jobs(0, 1)
        except (StoreError, StoreUnusableError) as error:
            return f"the store gives no answer: {error}"
        return None

    if metrics:
        metrics.watch(lambda: workers.queued, lambda: len(workers.backlog.left))
    try:
        health = Health(address_of(args.health), lambda: workers.heart.alive, ready, metrics.text if metrics else None)
    except (ValueError, OSError) as error:
        raise CommandError(f"--health {args.health}: {error}") from error
    with health:
        yield
