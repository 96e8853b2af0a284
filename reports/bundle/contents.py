"""What a bundle holds: what this program derives from a run's evidence, and the files on which its verdicts rest."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ...checkers.evidence import Item, RunEvidence, Trace
from ..files import EVIDENCE, EvidenceError, forms, load
from ..view import REGISTER, Register
from .archive import NAME, pack
from .manifest import ENVELOPE, MANIFEST, manifest
from .statement import envelope, statement

REGISTER_FILE: Final = "register.json"
TRACES: Final = "traces/"


def bundle(directory: Path, key: Ed25519PrivateKey | None = None, register: Register = REGISTER) -> bytes:
    """The bundle of the run in a directory, signed if there is a key: the same bytes for the same run and key.

    Raises EvidenceError where its evidence is none, or a file on which a verdict rests is not there; ArchiveError for a name
    that has no place in a bundle.
    """
    evidence = load(directory)
    files = {**derived(evidence, register), **collected(evidence, directory)}
    if (directory / EVIDENCE).read_bytes() != files[EVIDENCE]:
        raise EvidenceError(
            f"{directory / EVIDENCE}: was written or altered by something else than this program. Run `crashwindow verify`."
        )
    return sealed(files, evidence, key)


def sealed(files: Mapping[str, bytes], evidence: RunEvidence, key: Ed25519PrivateKey | None) -> bytes:
    """Some files with their manifest and their statement, as an archive."""
    whole = {**files, MANIFEST: manifest(files)}
    return pack({**whole, ENVELOPE: envelope(statement(whole, evidence), key)})


def derived(evidence: RunEvidence, register: Register) -> dict[str, bytes]:
    """Everything in a bundle that follows from the evidence and the register: forms, register, counterexamples, witnesses."""
    return {
        **{name: text.encode() for name, text in forms(evidence, register).items()},
        REGISTER_FILE: register_json(register),
        **{name: _trace_json(where, trace) for name, where, trace in _traces(evidence)},
    }


def register_json(register: Register) -> bytes:
    """The claim register as canonical JSON: every claim with its formal statement, and every assumption."""
    claims: list[dict[str, Any]] = [{**asdict(claim), "formal": claim.formal} for claim in register.claims]
    return rfc8785.dumps(_plain({"claims": claims, "assumptions": [asdict(a) for a in register.assumptions.values()]}))


def _plain(value: Any) -> Any:
    """Tuples as lists, as JSON has them."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _traces(evidence: RunEvidence) -> Iterator[tuple[str, dict[str, str], Trace]]:
    """Each counterexample and witness: the name of its file, where it belongs, and the run."""
    for result in evidence.claims:
        for number, item in enumerate(result.items):
            if item.trace:
                where = {"claim": result.claim, "checker": item.checker, "verdict": str(item.verdict)}
                yield f"{TRACES}{result.claim}-{number}.json", {**where, "statement": item.statement}, item.trace
    for scenario in evidence.scenarios:
        if scenario.trace:
            yield f"{TRACES}scenario-{scenario.name}.json", {"scenario": scenario.name}, scenario.trace


def _trace_json(where: Mapping[str, str], trace: Trace) -> bytes:
    return rfc8785.dumps({**where, **trace.model_dump(mode="json")})


def files_of(evidence: RunEvidence) -> dict[str, list[tuple[str, Item]]]:
    """The places on which verdicts rest, each with the claims and items that name it; a place that ends in "/" is a directory."""
    found: dict[str, list[tuple[str, Item]]] = {}
    for result in evidence.claims:
        for item in result.items:
            for place in item.files:
                found.setdefault(place, []).append((result.claim, item))
    return found


def below(place: str, name: str) -> bool:
    """Whether a file is the place, or lies in it."""
    return name.startswith(place) if place.endswith("/") else name == place


def collected(evidence: RunEvidence, directory: Path) -> dict[str, bytes]:
    """The files of a run's directory on which its verdicts rest. Raises EvidenceError for one that is missing, or is a link."""
    found: dict[str, bytes] = {}
    for place, users in files_of(evidence).items():
        if not NAME.fullmatch(place.removesuffix("/")):
            raise EvidenceError(
                f"claim {users[0][0]} rests on {place!r}, which is no plain path in the run's directory."
            )
        path = directory / place
        paths = sorted(p for p in path.rglob("*") if not p.is_dir()) if place.endswith("/") else [path]
        if not paths:
            raise EvidenceError(
                f"{path}: claim {users[0][0]} rests on it, and it holds nothing. Run `crashwindow verify`."
            )
        for file in paths:
            if file.is_symlink() or not file.is_file():
                raise EvidenceError(
                    f"{file}: claim {users[0][0]} rests on it, and it is no file. Run `crashwindow verify`."
                )
            found[file.relative_to(directory).as_posix()] = file.read_bytes()
    return found
