"""Event streams of a few crash schedules as `verify` keeps them, made in a moment: for tests of keeping and of auditing."""

from itertools import groupby
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from crashwindow.checkers.contract_cases import CONTRACT_CASES
from crashwindow.checkers.contract_streams import keep_contracts
from crashwindow.checkers.crash_cases import CASES
from crashwindow.checkers.crash_faults import Key, parse_key
from crashwindow.checkers.crash_image import Files
from crashwindow.checkers.crash_kill import Killer
from crashwindow.checkers.crash_streams import Case, file_name, keep_streams
from crashwindow.checkers.crash_zygote import subject_of
from crashwindow.checkers.semantics_cases import SEMANTICS_CASES
from crashwindow.model.policy import HARDENED

EVERY: Final[dict[str, Case]] = {**CASES, **SEMANTICS_CASES}
FOLDER: Final = "streams/crash/"
CONTRACTS: Final = "streams/contracts/"


def killed(*keys: str) -> dict[Key, Files]:
    """What some schedules leave, struck in processes of this test's own."""
    images: dict[Key, Files] = {}
    wanted = sorted(map(parse_key, keys))
    with TemporaryDirectory() as place:
        for case, group in groupby(wanted, attrgetter("case")):
            killer = Killer(subject_of(case), HARDENED, f"{place}/{case}", {})
            killer.wanted, killer.images = frozenset(wanted), images
            records = killer.run_all([key.schedule for key in group])
            assert not [record for record in records if record.error]
    return images


def kept(*keys: str) -> dict[str, bytes]:
    """The files that are kept of some schedules, by the names that they have in a bundle."""
    with TemporaryDirectory() as place:
        keep_streams(killed(*keys), EVERY, Path(place, FOLDER))
        return {f"{FOLDER}{path.name}": path.read_bytes() for path in sorted(Path(place, FOLDER).iterdir())}


def kept_contracts(*keys: str) -> dict[str, bytes]:
    """The same of schedules of execution contracts."""
    wanted = set(keys)
    images = {key: files for key, files in killed(*keys).items() if str(key) in wanted}
    with TemporaryDirectory() as place:
        keep_contracts(images, CONTRACT_CASES, Path(place, CONTRACTS))
        return {f"{CONTRACTS}{path.name}": path.read_bytes() for path in sorted(Path(place, CONTRACTS).iterdir())}


def named(key: str) -> tuple[str, str]:
    """The names that the stream of a schedule and its world's file have in a bundle."""
    base = f"{FOLDER}{file_name(parse_key(key))}"
    return f"{base}.jsonl", f"{base}.world"
