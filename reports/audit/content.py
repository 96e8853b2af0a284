"""What a bundle says, beside what follows from its evidence: schema, register, claims, reports, counterexamples, every file."""

from collections import Counter
from collections.abc import Mapping

from pydantic import ValidationError

from ...checkers.evidence import SCHEMA_VERSION, RunEvidence
from ...model.claims import NOT_CHECKED
from ..bundle.contents import REGISTER_FILE, TRACES, below, files_of, register_json
from ..bundle.manifest import listed
from ..files import EVIDENCE, SCHEMA
from ..view import Register, judge, listing
from .strict_json import JsonError, strict_json


class EvidenceUnreadError(ValueError):
    """Evidence that cannot be read: why."""


def read(files: Mapping[str, bytes]) -> RunEvidence:
    """The evidence of a bundle. Raises EvidenceUnreadError."""
    if EVIDENCE not in files:
        raise EvidenceUnreadError(f"{EVIDENCE}: it is missing")
    try:
        content = strict_json(files[EVIDENCE])
    except JsonError as error:
        raise EvidenceUnreadError(f"{EVIDENCE}: {error}") from error
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version != SCHEMA_VERSION:
        raise EvidenceUnreadError(f"{EVIDENCE}: its schema_version is {version!r}, this program reads {SCHEMA_VERSION}")
    try:
        return RunEvidence.model_validate_json(files[EVIDENCE])
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:200]
        raise EvidenceUnreadError(
            f"{EVIDENCE}: {error.error_count()} errors, first at {where}: {first['msg']}"
        ) from error


def schema(files: Mapping[str, bytes], due: Mapping[str, bytes]) -> list[str]:
    """Whether the evidence is written as evidence is, and the schema beside it is this program's. due: what is derived."""
    return [
        f"{name}: {words}"
        for name, words in (
            (EVIDENCE, "it is not written as evidence is: sorted, indented, and nothing else"),
            (SCHEMA, "it is not the schema of this program's evidence"),
        )
        if files.get(name) != due[name]
    ]


def register(files: Mapping[str, bytes], ours: Register) -> list[str]:
    """Whether the register in a bundle is this program's; each claim and assumption that differs is named."""
    due = register_json(ours)
    if files.get(REGISTER_FILE) == due:
        return []
    try:
        said, ought = (_by_id(strict_json(data)) for data in (files.get(REGISTER_FILE, b""), due))
    except (JsonError, TypeError, KeyError, AttributeError) as error:
        return [f"{REGISTER_FILE}: it is no claim register: {error}"]
    found = [f"{REGISTER_FILE}: {name} is not in it" for name in ought if name not in said]
    found += [f"{REGISTER_FILE}: this program's register has no {name}" for name in said if name not in ought]
    other = [name for name, entry in ought.items() if said.get(name, entry) != entry]
    found += [f"{REGISTER_FILE}: {name} says something else in this program's register" for name in other]
    return found or [f"{REGISTER_FILE}: it is not written as a register is"]


def _by_id(content: dict[str, list[dict[str, str]]]) -> dict[str, dict[str, str]]:
    return {f"{kind[:-1]} {entry['id']}": entry for kind, entries in content.items() for entry in entries}


def claims(evidence: RunEvidence, ours: Register) -> list[str]:
    """Whether the evidence speaks of each claim of the register, once, as the register expects it, and of no other."""
    known = {claim.id: claim for claim in ours.claims}
    times = Counter(result.claim for result in evidence.claims)
    found = [f"claim {name}: the evidence does not speak of it" for name in known if name not in times]
    found += [f"claim {name}: the register has no such claim" for name in times if name not in known]
    found += [f"claim {name}: the evidence speaks of it {count} times" for name, count in times.items() if count > 1]
    for result in evidence.claims:
        if result.claim in known and result.expected != known[result.claim].expected:
            due = known[result.claim].expected
            found.append(f"claim {result.claim}: the evidence expects {result.expected}, the register {due}")
    for entry in listing(evidence, ours).entries:
        if entry.items and entry.missing:
            found.append(
                f"claim {entry.claim.id}: the register names {', '.join(entry.missing)}, and the evidence has no word of it"
            )
    if evidence.not_checked != list(NOT_CHECKED):
        found.append(f"{EVIDENCE}: what it says is not checked is not what this program says is not checked")
    return found


def reports(files: Mapping[str, bytes], due: Mapping[str, bytes]) -> list[str]:
    """Whether each report is, byte for byte, what this program makes of the evidence: then it says nothing else."""
    others = (EVIDENCE, SCHEMA, REGISTER_FILE)
    mine = {name: data for name, data in due.items() if name not in others and not name.startswith(TRACES)}
    return _differing(files, mine, "this program makes something else of the evidence")


def traces(files: Mapping[str, bytes], due: Mapping[str, bytes]) -> list[str]:
    """Whether the counterexamples and witnesses that stand alone are those of the evidence."""
    mine = {name: data for name, data in due.items() if name.startswith(TRACES)}
    return _differing(files, mine, "the evidence has another run there")


def _differing(files: Mapping[str, bytes], due: Mapping[str, bytes], words: str) -> list[str]:
    return [f"{n}: {words if n in files else 'it is missing'}" for n, data in due.items() if files.get(n) != data]


def every_file(files: Mapping[str, bytes], evidence: RunEvidence, due: Mapping[str, bytes]) -> list[str]:
    """Whether each file is derived from the evidence, or is one on which a verdict rests; and each such place holds something."""
    places = files_of(evidence)
    found = [
        f"{name}: nothing in the evidence speaks of it"
        for name in listed(files)
        if name not in due and not any(below(place, name) for place in places)
    ]
    for place, users in places.items():
        if not any(below(place, name) for name in files):
            found.append(f"{place}: claim {users[0][0]} rests on it, and it is missing")
    return found


def outcome(evidence: RunEvidence, ours: Register) -> list[str]:
    """What in the evidence itself is not as the register expects it: a truthful bundle of a run that did not pass is no pass."""
    return [f"the run did not pass: {words}" for words in judge(evidence, ours).problems]
