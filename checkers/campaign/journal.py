"""What a campaign has run, a line each, so that an interrupted one goes on; and what those lines depend on.

A matrix is of one campaign, one adapter and one environment: whoever goes on with others is refused, and told what has changed.
"""

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..evidence_matrix import Trial
from ..evidence_outcome import UNJUDGED
from .sources import files_of

if TYPE_CHECKING:
    from .bench import Schedule, Setup
    from .campaign import Options, Task

HEADER: Final = "campaign.json"
_INSTALLED: Final = ("runtime", "packages", "python")
"""What of a header is the environment: the releases that the adapter names, every installed distribution, and Python."""


class Journal:
    """The trials of a campaign, a line each, in a file that only grows; None: they are kept in memory alone."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.trials: dict[tuple[str, ...], dict[int, Trial]] = {}
        if file is not None and file.exists():
            # The last line of an interrupted campaign may be torn: it goes, and what was not judged is run again.
            whole = file.read_bytes()
            whole = whole[: whole.rfind(b"\n") + 1]
            file.write_bytes(whole)
            for trial in map(Trial.model_validate_json, whole.splitlines()):
                if trial.outcome not in UNJUDGED:
                    self._take(trial)

    def add(self, trial: Trial) -> None:
        """One more."""
        self._take(trial)
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(trial.model_dump_json() + "\n")

    def _take(self, trial: Trial) -> None:
        self.trials.setdefault(trial.schedule, {})[trial.run] = trial

    def of(self, schedule: "Schedule") -> list[Trial]:
        """What became of a schedule, run by run."""
        return [trial for _, trial in sorted(self.trials.get(tuple(map(str, schedule)), {}).items())]

    def has(self, task: "Task") -> bool:
        """Whether a run of a schedule is there."""
        schedule, run = task
        return run in self.trials.get(tuple(map(str, schedule)), {})


def journal_of(directory: Path | None, setup: "Setup", options: "Options", runtime: Mapping[str, str]) -> Journal:
    """The journal of a subject: of this campaign, or new. runtime: the releases that its adapter names.

    Raises ValueError, which names what has changed since it was begun.
    """
    if directory is None:
        return Journal(None)
    directory.mkdir(parents=True, exist_ok=True)
    stamp, file = directory / f"{setup.subject.name}.{HEADER}", directory / f"{setup.subject.name}.jsonl"
    now = header(setup, options, runtime)
    if stamp.exists():
        changed = list(_changes(json.loads(stamp.read_text(encoding="utf-8")), now))
        if changed:
            raise ValueError(
                f"{directory}: holds another campaign of {setup.subject.name}; changed since it was begun: "
                f"{', '.join(changed)}: leave --resume out, or go on with what it was begun with"
            )
    stamp.write_text(json.dumps(now, indent=1, sort_keys=True), encoding="utf-8")
    return Journal(file)


def header(setup: "Setup", options: "Options", runtime: Mapping[str, str]) -> dict[str, Any]:
    """What a journal's trials depend on, as it comes out of JSON."""
    told = {
        **asdict(setup),
        "adapter": {
            name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files_of(setup.subject).items()
        },
        "profile": options.profile,
        "repeats": options.repeats,
        "seed": options.seed,
        "runtime": dict(runtime),
        "packages": _packages(),
        "python": {"Python": platform.python_version()},
    }
    read: dict[str, Any] = json.loads(json.dumps(told, default=str))
    return read


def _packages() -> dict[str, str]:
    """Each distribution that is installed, and its release: which of them a runtime loads late nobody knows."""
    return {each.metadata["Name"]: each.version for each in distributions() if each.metadata["Name"]}


def _changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """In words, what is not as it was: each setting by its key, each file of the adapter, and each release."""
    for key in now:
        if key in _INSTALLED or key == "adapter":
            old, new = then.get(key, {}), now[key]
            for name in sorted(old.keys() | new.keys()):
                if old.get(name) != new.get(name):
                    said = f"{old.get(name, 'none')} then, {new.get(name, 'none')} now"
                    yield f"{name} ({said})" if key in _INSTALLED else name
        elif then.get(key) != now[key]:
            yield key
