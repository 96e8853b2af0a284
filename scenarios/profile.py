"""What a run holds, whoever makes it: the campaigns of crashes, the subjects that are mutated, the defects that are planted.

Who runs them names them so, and who audits a run finds by it what was left out.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Literal

Strikes = Literal["snapshot", "SIGKILL", "store fault"]
"""How the schedules of a campaign strike."""
SEMANTICS_STREAMS: Final = "streams/semantics/"
CRASH_STREAMS: Final = "streams/crash/"
CONTRACT_STREAMS: Final = "streams/contracts/"
"""Where in a run's directory the event streams of representative schedules are, by what is crashed."""
SESSIONS: Final = "contract-"
"""How the names of crash cases begin that are sessions of execution contracts, as those of plans do not."""
KEPT: Final = {CRASH_STREAMS: 86, SEMANTICS_STREAMS: 101, CONTRACT_STREAMS: 25}
"""How many streams a run keeps there at least: each profile keeps these, and the deep one more."""
MATRICES: Final = {"quick": (), "deep": ("act-then-record", "record-then-act", "own-sqlite-query", "own-sqlite-park")}
"""The subjects of crash campaigns on runtimes of which a run of a profile has the crash matrix."""
CAMPAIGNS: Final[Mapping[str, Mapping[str, Strikes]]] = {
    CRASH_STREAMS: {
        "snapshots": "snapshot", "store faults": "store fault", "killed processes": "SIGKILL", "shipped tools": "SIGKILL",
    },
    SEMANTICS_STREAMS: {
        "semantics: snapshots": "snapshot", "semantics: store faults": "store fault", "semantics: killed processes": "SIGKILL",
    },
    CONTRACT_STREAMS: {
        "contracts: snapshots": "snapshot", "contracts: store faults": "store fault", "contracts: killed processes": "SIGKILL",
    },
}  # fmt: skip
"""The campaigns of crashes by the place of their streams, each with the way in which its schedules strike."""
CRASHED: Final[Mapping[str, str]] = {
    "hardened": CRASH_STREAMS,
    "gate-hardened": SEMANTICS_STREAMS,
    "contract-hardened": CONTRACT_STREAMS,
}
"""By policy that is searched, the campaigns that crash what it is a model of."""
MUTATED: Final[Mapping[str, int]] = {
    "recorded-hardened": 36, "gate-hardened": 38, "compensation-hardened": 39, "contract-hardened": 40, "hardened": 18,
}  # fmt: skip
"""The machines that are mutated, each with its mutants in the quick profile; in the deep one there are more of each."""
MUTATED_FLEETS: Final[Mapping[str, int]] = {"fleet-recorded": 6, "fleet-gate": 0, "fleet-compensation": 0, "fleet": 0}
"""The same of the fleets: the quick profile takes the smallest alone."""
ONE_IN: Final[Mapping[str, int]] = {"fleet-compensation": 4, "fleet": 8}
"""Of these fleets, whose matrices take hours, a deep run judges one mutant in so many, which ones by its seed;
`crashwindow mutants` judges all."""
COVERED: Final[Mapping[str, str]] = {"contract-hardened": "SQLite"}
"""By policy that is searched, the store on which every edge and every refusal is tried."""
COVERED_BY: Final = ("enumerate", "walk")
"""Who takes a contract's edges there."""
PLANTED: Final = (
    "contract",
    "gate",
    "compensation",
    "recorded",
    "fleet",
    "interleavings",
    "enumeration",
    "necessity",
    "ambiguity",
    "reprove",
    "replay",
    "windows",
    "walk",
    "contract walk",
    "workers walk",
    "test path",
    "converse",
    "contract converse",
    "crash",
    "semantics crash",
    "contract crash",
    "monitor",
    "semantics monitor",
    "check-trace",
    "verify-job",
    "keys",
    "stores",
    "power",
)
"""How the names of planted defects begin, but for those of the step's model: of each there is one at least."""
ASKED_AGAIN: Final = "reprove"
"""The one of which there is none where nobody is there to give a second opinion."""


def unplanted(there: Iterable[str], excused: Collection[str] = ()) -> Iterator[str]:
    """The parts of a run of which no defect was planted, in words. there: names of those that were; excused: who needs none."""
    begun = {*excused, *(name.partition(": ")[0] if ": " in name else "" for name in there)}
    yield from (
        f"planted defects of {name or 'the step'}: there is none" for name in ("", *PLANTED) if name not in begun
    )


def command(profile: str, seed: int | str = "") -> str:
    """What repeats a run, whole; without its seed what is the same in every run of the profile."""
    return f"crashwindow verify --profile {profile}" + (f" --seed {seed}" if seed != "" else "")
