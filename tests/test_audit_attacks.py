"""Attacks on a bundle: whatever is altered, dropped, added, exchanged or forged is found, and what was attacked is named.

First those who hold no key and touch the archive, the manifest or the seal; then the worst of them, who packs and signs anew with
the trusted key: then only what the evidence itself says can give them away.
"""

import base64
import gzip
import io
import json
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import rfc8785

from crashwindow.checkers.evidence import Necessity, Need, RunEvidence, Trace, Verdict
from crashwindow.reports.audit import replays
from crashwindow.reports.bundle import archive, contents
from crashwindow.reports.bundle.archive import ArchiveError, pack, unpack
from crashwindow.reports.bundle.contents import derived, register_json, sealed
from crashwindow.reports.bundle.manifest import ENVELOPE, MANIFEST, manifest
from crashwindow.reports.bundle.statement import PAYLOAD_TYPE, envelope, key_id, signed_bytes, statement
from crashwindow.reports.files import EVIDENCE, SCHEMA, forms
from crashwindow.reports.markdown import render_markdown
from crashwindow.reports.view import Register
from crashwindow.scenarios.matrix import bounds

from .small_bundle import (
    AGAIN,
    CRASH,
    HOLDS,
    OTHER,
    OURS,
    REGISTER,
    SMT2,
    STREAM,
    TRIED,
    WITHOUT,
    WITNESS,
    WORLD,
    Run,
    audited,
    looked_at_once,
    run,
)

# ruff: noqa: E501
# Tables: an attack is read as a row.

FIRST = f"{SMT2}000-initial-a-start-satisfies-the-invariant.smt2"
RULE = f"{SMT2}002-rule-replay-inject-the-committed-first-then-append-node-keeps-the-invariant.smt2"
LAST = f"{SMT2}113-fires-crash-can-fire.smt2"
"""Obligations of the small run, by name: it is made where a test asks for it."""
TRACE = f"traces/{WITHOUT.id}-0.json"


@pytest.fixture(autouse=True, scope="module")
def followed_once() -> Iterator[None]:
    """What a key leads to is worked out once by the auditor's own code: an attack on a run has another key, or other frames."""
    known: dict[tuple[str, int | None], tuple[str, list[replays.Step]]] = {}
    whole = replays.follow

    def quick(trace: Trace) -> tuple[str, list[replays.Step]]:
        asked = trace.key, trace.repeats
        if asked not in known:
            known[asked] = whole(trace)
        return known[asked]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replays, "follow", quick)
        yield


@pytest.fixture(autouse=True, scope="module")
def rendered_once() -> Iterator[None]:
    """The honest run has all its forms, made once; other evidence has those that are quick, for attacker and auditor alike."""
    every = forms(run().evidence, REGISTER)
    known = {(every[EVIDENCE], hash(REGISTER.claims)): every}

    def quick(evidence: RunEvidence, register: Register) -> dict[str, str]:
        text = json.dumps(evidence.model_dump(mode="json"), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        key = text, hash(register.claims)
        if key not in known:
            known[key] = {EVIDENCE: text, SCHEMA: every[SCHEMA], "report.md": render_markdown(evidence, register)}
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "forms", quick)
        yield


@pytest.fixture(autouse=True, scope="module")
def contents_once() -> Iterator[None]:
    """Who touches manifest or envelope alone leaves the contents as they are."""
    with looked_at_once():
        yield


@cache
def honest() -> bytes:
    """The honest bundle."""
    return run().packed()


@cache
def honest_files() -> dict[str, bytes]:
    """Its files."""
    return unpack(honest())


# Who touches the archive: what is left is no bundle.


def tar(*entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    """An archive of these entries, however odd, in an honest gzip stream."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as made:
        for info, data in entries:
            made.addfile(info, io.BytesIO(data))
    return squeezed(out.getvalue().rstrip(b"\0") + bytes(-len(out.getvalue().rstrip(b"\0")) % 512) + archive.END)


def squeezed(data: bytes) -> bytes:
    """A gzip stream as a bundle has it."""
    return zlib.compress(data, 9, wbits=31)


def entry(name: str, data: bytes = b"x", **more: Any) -> tuple[tarfile.TarInfo, bytes]:
    """An entry of an archive, as a bundle has it, but for what is said."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    for what, value in more.items():
        setattr(info, what, value)
    return info, data


def linked(kind: bytes) -> bytes:
    """An archive with a link out of it, or something else that is no file."""
    return tar(entry("evidence.json", b"", type=kind, linkname="/etc/passwd"))


def header(name: bytes = b"evidence.json", size: bytes = b"00000000001\0") -> bytes:
    """An archive whose header has another name or size in it, with the right sum."""
    block = bytearray(tarfile.TarInfo("evidence.json").tobuf(tarfile.USTAR_FORMAT))
    block[: len(name)], block[124:136], block[148:156] = name, size, b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return squeezed(bytes(block) + b"x".ljust(512, b"\0") + archive.END)


def plain(change: Callable[[bytearray], None]) -> bytes:
    """The honest archive, with its uncompressed bytes changed."""
    data = bytearray(zlib.decompress(honest(), wbits=31))
    change(data)
    return squeezed(bytes(data))


def cut(data: bytearray) -> None:
    """Take away the end, and half an entry."""
    del data[-4 * 512 :]


def padded(data: bytearray) -> None:
    """Hide something behind the end of the first file."""
    size = int(data[124:135], 8)
    assert size % 512
    data[512 + size] = 1


def gzip_named() -> bytes:
    """The same archive, in a stream that names a file."""
    out = io.BytesIO()
    with gzip.GzipFile("x.tar", "wb", fileobj=out, mtime=0) as made:
        made.write(zlib.decompress(honest(), wbits=31))
    return out.getvalue()


ARCHIVES: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty file": (lambda: b"", "does not begin as a bundle"),
    "truncated file": (lambda: honest()[:-100], "truncated"),
    "one byte of the stream changed": (lambda: honest()[:5000] + bytes([honest()[5000] ^ 1]) + honest()[5001:], "damaged"),
    "truncated archive in a whole stream": (lambda: plain(cut), "truncated|does not end"),
    "bytes behind the stream": (lambda: honest() + b"more", "4 bytes follow"),
    "a second stream behind it": (lambda: honest() + honest(), "follow"),
    "bytes behind the archive": (lambda: plain(lambda data: data.extend(b"x" * 512)), "does not end"),
    "another kind of file": (lambda: b"PK\3\4" + honest(), "does not begin as a bundle"),
    "a name in the stream's head": (gzip_named, "does not begin as a bundle"),
    "symbolic link": (lambda: linked(tarfile.SYMTYPE), "evidence.json.*symbolic link"),
    "hard link": (lambda: linked(tarfile.LNKTYPE), "evidence.json.*hard link"),
    "character device": (lambda: linked(tarfile.CHRTYPE), "evidence.json.*character device"),
    "block device": (lambda: linked(tarfile.BLKTYPE), "evidence.json.*block device"),
    "pipe": (lambda: linked(tarfile.FIFOTYPE), "evidence.json.*pipe"),
    "directory": (lambda: linked(tarfile.DIRTYPE), "evidence.json.*directory"),
    "contiguous file": (lambda: linked(tarfile.CONTTYPE), "evidence.json.*unknown kind"),
    "extended header": (lambda: tar(entry("a" * 101), form=tarfile.PAX_FORMAT), "extension of the format"),
    "long name of GNU": (lambda: tar(entry("a" * 101), form=tarfile.GNU_FORMAT), "extension of the format"),
    "absolute path": (lambda: tar(entry("/etc/passwd")), "/etc/passwd.*absolute"),
    "path out of the archive": (lambda: tar(entry("smt2/../../x")), "smt2/../../x.*leads out"),
    "hidden file": (lambda: tar(entry(".profile")), ".profile.*no|not a plain name"),
    "backslash": (lambda: tar(entry("a\\b")), "not a plain name"),
    "empty part of a path": (lambda: tar(entry("a//b")), "a//b.*not a plain name"),
    "letter that looks like another": (lambda: tar(entry("еvidence.json")), "not a plain name"),
    "text that runs backwards": (lambda: tar(entry("a\u202egpj.exe")), "not a plain name"),
    "NUL in a name": (lambda: header(name=b"evidence.json\0.exe"), "evidence.json.*header says more"),
    "size in another notation": (lambda: header(size=b"\x80" + bytes(10) + b"\1"), "evidence.json.*header says"),
    "negative size": (lambda: header(size=b"\xff" * 12), "evidence.json|header is damaged"),
    "huge declared size": (lambda: header(size=b"77777777777\0"), "evidence.json.*declares 8589934591 bytes"),
    "more declared than there is": (lambda: header(size=b"00001000000\0"), "evidence.json.*truncated"),
    "wrong sum of a header": (lambda: plain(lambda data: data.__setitem__(150, data[150] ^ 1)), "header is damaged"),
    "set-user-id bit": (lambda: tar(entry("a", mode=0o4755)), "a: its header says more"),
    "owner": (lambda: tar(entry("a", uname="root", uid=7)), "a: its header says more"),
    "time": (lambda: tar(entry("a", mtime=1)), "a: its header says more"),
    "bytes behind a file's end": (lambda: plain(padded), "badge.json: there are bytes behind its end"),
    "duplicate name": (lambda: tar(entry("a"), entry("a")), "a: it is there twice"),
    "names out of order": (lambda: tar(entry("b"), entry("a")), "a: it stands behind b"),
    "names alike but for their case": (lambda: tar(entry("A"), entry("a")), "a: it differs from A"),
    "file below a file": (lambda: tar(entry("a"), entry("a/b")), "a/b: a is a file"),
    "zip bomb": (lambda: tar(entry("a", b"x" * (50 << 20))), "it grows beyond"),
    "no entry at all": (lambda: squeezed(archive.END), ""),
}  # fmt: skip


@pytest.mark.parametrize("attack", ARCHIVES)
def test_an_archive_that_was_touched_is_refused(attack: str) -> None:
    """What is not the one way in which plain files are written is refused, before anything in it is looked at."""
    data, words = ARCHIVES[attack]
    if not words:  # an archive of nothing is one: its evidence is missing
        assert audited(data()).result == "FAIL"
        return
    with pytest.raises(ArchiveError, match=words):
        audited(data())


def test_thousands_of_entries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle has a bound on its entries, however small each is; the one that is too much is named."""
    monkeypatch.setattr(archive, "MOST_FILES", 30)
    entries = [entry(f"{number:03}") for number in range(31)]
    unpack(tar(*entries[:30]))
    with pytest.raises(ArchiveError, match="030: there are more than 30"):
        unpack(tar(*entries))


# Who touches files, manifest or seal, and holds no key.


def refilled(**changes: bytes | None) -> bytes:
    """The honest bundle with some files changed or taken away, and nothing else adapted."""
    return pack({name: data for name, data in {**honest_files(), **changes}.items() if data is not None})


def with_manifest(change: Callable[[dict[str, Any]], None]) -> bytes:
    """The honest bundle with another manifest, canonical as an honest one is."""
    content = json.loads(honest_files()[MANIFEST])
    change(content)
    return refilled(**{MANIFEST: rfc8785.dumps(content)})


def rehashed(**changes: bytes | None) -> bytes:
    """Some files changed, and the manifest made anew: only the seal is left as it was."""
    files = {name: data for name, data in {**honest_files(), **changes}.items() if data is not None}
    return pack({**files, MANIFEST: manifest(files)})


def with_envelope(change: Callable[[dict[str, Any]], None]) -> bytes:
    """The honest bundle with another envelope."""
    content = json.loads(honest_files()[ENVELOPE])
    change(content)
    return refilled(**{ENVELOPE: rfc8785.dumps(content)})


def signed(payload: bytes, kind: str = PAYLOAD_TYPE, key: Any = OURS, name: str | None = None) -> bytes:
    """The honest bundle with something else signed in its envelope."""
    signature = {
        "keyid": name or key_id(key.public_key()),
        "sig": base64.b64encode(key.sign(signed_bytes(kind, payload))).decode(),
    }
    content: dict[str, Any] = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": kind,
        "signatures": [signature],
    }
    return refilled(**{ENVELOPE: rfc8785.dumps(content)})


@cache
def payload() -> bytes:
    """What is honestly signed."""
    return base64.b64decode(json.loads(honest_files()[ENVELOPE])["payload"])


def restated(change: Callable[[dict[str, Any]], None]) -> bytes:
    """A statement that says something else, signed with the trusted key."""
    content = json.loads(payload())
    change(content)
    return signed(rfc8785.dumps(content))


def doubled(text: bytes) -> bytes:
    """JSON in which the first name stands twice."""
    return b'{"format":"x",' + text[1:]


SEALS: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "a file dropped": (lambda: refilled(**{RULE: None}), "manifest", f"{RULE}: the manifest lists it"),
    "a file added": (lambda: refilled(**{f"{SMT2}999-more.smt2": b"x"}), "manifest", f"{SMT2}999-more.smt2: it is there"),
    "two contents exchanged": (lambda: refilled(**{FIRST: honest_files()[RULE], RULE: honest_files()[FIRST]}),
                               "manifest", f"{RULE}: it is not what"),
    "a file renamed": (lambda: refilled(**{RULE: None, f"{RULE}2": honest_files()[RULE]}), "manifest", f"{RULE}2: it is there"),
    "a file emptied": (lambda: refilled(**{"report.html": b""}), "manifest", "report.html: it is not what"),
    "an archive in the archive": (lambda: refilled(**{"more.tar.gz": honest()}), "manifest", "more.tar.gz: it is there"),
    "no manifest": (lambda: refilled(**{MANIFEST: None}), "manifest", f"{MANIFEST}: it is missing"),
    "a manifest that is no list": (lambda: refilled(**{MANIFEST: b"[]"}), "manifest", f"{MANIFEST}: it is no list"),
    "a manifest of another format": (lambda: with_manifest(lambda m: m.update(format="2")), "manifest", f"{MANIFEST}: its format"),
    "lines of the manifest reordered": (lambda: with_manifest(lambda m: m["files"].reverse()), "merkle root", "not written"),
    "a line of the manifest twice": (lambda: with_manifest(lambda m: m["files"].append(m["files"][0])), "merkle root", MANIFEST),
    "a line of the manifest dropped": (lambda: with_manifest(lambda m: m["files"].pop()), "manifest", "does not list it"),
    "a size in the manifest": (lambda: with_manifest(lambda m: m["files"][0].update(size=1)), "manifest", "badge.json: it is not"),
    "another root in the manifest": (lambda: with_manifest(lambda m: m.update(merkle_root="0" * 64)), "merkle root", "states the root"),
    "more said in the manifest": (lambda: with_manifest(lambda m: m.update(note="trust me")), "merkle root", "not written"),
    "a name twice in the manifest": (lambda: refilled(**{MANIFEST: doubled(honest_files()[MANIFEST])}), "manifest", "twice"),
    "a space in the manifest": (lambda: refilled(**{MANIFEST: honest_files()[MANIFEST] + b" "}), "merkle root", "not written"),
    "a file altered, and the manifest with it": (lambda: rehashed(**{"report.md": b"all is well"}), "statement", "manifest.json"),
    "signed again with another key": (lambda: sealed(run().whole(), run().evidence, OTHER), "signature", "not by the key"),
    "another key that bears the trusted one's name": (lambda: signed(payload(), key=OTHER, name=key_id(OURS.public_key())),
                                                      "signature", "though it names that key"),
    "a bit of the signature": (lambda: with_envelope(lambda e: e["signatures"][0].update(sig=base64.b64encode(bytes(64)).decode())),
                               "signature", "not by the key"),
    "an empty signature": (lambda: with_envelope(lambda e: e["signatures"][0].update(sig="")), "signature", "not by the key"),
    "two signatures": (lambda: with_envelope(lambda e: e["signatures"].append(e["signatures"][0])), "envelope", "2 signatures"),
    "another payload type, signed": (lambda: signed(payload(), "text/plain"), "envelope", "of type 'text/plain'"),
    "another payload type, not signed": (lambda: with_envelope(lambda e: e.update(payloadType="text/plain")), "signature", "not by"),
    "payload altered": (lambda: with_envelope(lambda e: e.update(payload=base64.b64encode(b"{}").decode())), "signature", "not by"),
    "payload not canonical, signed": (lambda: signed(payload() + b" "), "statement", "not canonical JSON"),
    "payload no JSON, signed": (lambda: signed(b"\xff"), "statement", "not UTF-8"),
    "no envelope": (lambda: refilled(**{ENVELOPE: None}), "envelope", f"{ENVELOPE}: it is missing"),
    "an envelope that is no JSON": (lambda: refilled(**{ENVELOPE: b"x"}), "envelope", f"{ENVELOPE}: it is no JSON"),
    "more in the envelope": (lambda: with_envelope(lambda e: e.update(note="x")), "envelope", "three members"),
    "more in a signature": (lambda: with_envelope(lambda e: e["signatures"][0].update(cert="x")), "envelope", "other members"),
    "another base64": (lambda: with_envelope(lambda e: e.update(payload=e["payload"] + "\n")), "envelope", "damaged"),
    "the statement of another bundle": (lambda: signed(other_statement()), "statement", "evidence.json: the statement does not"),
    "another subject, signed": (lambda: restated(lambda s: s["subject"][0].update(name="x")), "statement", "subject"),
    "another root in the statement": (lambda: restated(lambda s: s["subject"][0]["digest"].update(merkleRfc6962Sha256="0")),
                                      "statement", "manifest.json: the statement"),
    "totals in the statement": (lambda: restated(lambda s: s["predicate"]["items"].update(PROVED=99)), "statement", "predicate"),
    "another predicate type": (lambda: restated(lambda s: s.update(predicateType="x")), "statement", "predicateType"),
}  # fmt: skip


def other_statement() -> bytes:
    """What another honest run was signed with."""
    other = run().with_item(HOLDS.id, CRASH, statement="another run")
    whole = {**other.whole(), MANIFEST: manifest(other.whole())}
    return statement(whole, other.evidence)


@pytest.mark.parametrize("attack", SEALS)
def test_a_seal_that_was_broken_is_found(attack: str) -> None:
    """Who holds no key, or signs what does not fit, is found by the check that is there for it, which names the file."""
    make, check, words = SEALS[attack]
    found(make(), check, words)


def found(data: bytes, check: str, words: str, recheck: bool = False) -> None:
    """Whether an audit fails, and the check of that name says so in these words."""
    made = audited(data, recheck)
    assert made.result == "FAIL"
    said = {each.name: each.words for each in made.checks if each.verdict == "FAIL"}
    assert any(words in each for each in said.get(check, ())), said


def test_a_signature_that_is_taken_away_is_no_pass() -> None:
    """Without its signature a bundle is UNSIGNED, whatever else is right."""
    made = audited(with_envelope(lambda e: e.update(signatures=[])))
    assert made.result == "UNSIGNED"
    assert any("UNSIGNED" in words for check in made.checks for words in check.words)


@pytest.mark.deep
def test_a_byte_of_any_file_is_found() -> None:
    """One bit of one byte of each kind of file is found, and the file is named."""
    for name in (FIRST, RULE, *(n for n in honest_files() if not n.startswith(SMT2))):
        data = honest_files()[name]
        middle = len(data) // 2
        made = audited(refilled(**{name: data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]}))
        assert made.result == "FAIL", name
        assert any(name in words for each in made.checks if each.verdict == "FAIL" for words in each.words)


# Who holds the trusted key, packs and signs everything anew.


def resigned(files: dict[str, bytes], evidence: Any = None) -> bytes:
    """Files with manifest, statement and signature made anew with the trusted key."""
    return sealed(files, evidence or run().evidence, OURS)


def whole(**changes: bytes | None) -> bytes:
    """Everything of the honest run but some files, sealed anew."""
    return resigned({name: data for name, data in {**run().whole(), **changes}.items() if data is not None})


def lied(number: int, claim: str = HOLDS.id, **parts: Any) -> bytes:
    """The run with one item that says something else; everything else follows from it."""
    return run().with_item(claim, number, **parts).packed()


def run_with(**parts: Any) -> bytes:
    """The run with other parts of its evidence; everything else follows from it."""
    return replace(run(), evidence=run().evidence.model_copy(update=parts)).packed()


def figures(number: int, **more: Any) -> dict[str, Any]:
    """The figures of an item, with others."""
    return {**run().items(HOLDS.id)[number].figures, **{name.replace("_", " "): value for name, value in more.items()}}


def proof(change: Callable[[str, bytes], bytes | None]) -> bytes:
    """The run with other obligations, and each figure adapted."""
    files = {
        n: changed
        for n, data in run().files.items()
        if (changed := change(n, data) if n.startswith(SMT2) else data) is not None
    }
    number = sum(name.startswith(SMT2) for name in files)
    items = [
        item.model_copy(update={"figures": {**item.figures, "questions in files": number}})
        if item.checker == "prove"
        else item
        for item in run().items(HOLDS.id)
    ]
    return replace(run().with_items(HOLDS.id, items), files=files).packed()


def trivial(name: str, data: bytes) -> bytes:
    """Instead of one obligation, one that nobody could fail."""
    head = b"(set-info :smt-lib-version 2.6)\n(set-logic QF_LIA)\n(set-info :status unsat)\n"
    return head + b"(assert false)\n(check-sat)\n" if name == RULE else data


def goalless(name: str, data: bytes) -> bytes:
    """Instead of the goal of one obligation, one that cannot hold."""
    return b"\n".join([*data.split(b"\n")[:-3], b"(assert false)", b"(check-sat)", b""]) if name == RULE else data


def assuming(name: str, data: bytes) -> bytes:
    """In one obligation, one assumption more, which makes it true."""
    return data.replace(b"(declare-fun", b"(assert false)\n(declare-fun", 1) if name == RULE else data


def frame(change: Callable[[Any], Any]) -> bytes:
    """The run with another counterexample."""
    trace = run().items(WITHOUT.id)[0].trace
    assert trace
    return lied(0, WITHOUT.id, trace=change(trace))


NEED = Need(property="P3", mechanism="catch-up", answer="needed", verdict=Verdict.REFUTED, words="an effect is not caught up", steps=17,
            key="model:without-catch-up:1/0/0/0/0/0/0/0/0/1/0/0/2/0/0/0/0/0")  # fmt: skip


FENCED: dict[str, Any] = {
    "property": "P5",
    "mechanism": "fence-ledger",
    "steps": 9,
    "key": "model:two-without-fence-ledger:0/0/0/0/1/1/1/0/0/1",
}
"""A cell of two workers: of a write below a fence, by the last step of its run."""


def needs(**parts: Any) -> bytes:
    """The run with a matrix of one cell, which says something else."""
    return run_with(
        necessity=Necessity(
            bounds=bounds("quick"), cells=[NEED.model_copy(update=parts)], sets=[], idle=[], ambiguity=[]
        )
    )


def elsewhere(place: str) -> bytes:
    """The run with its proof at the place of another model's."""
    moved = {name.replace(SMT2, place): data for name, data in run().files.items()}
    items = [
        item.model_copy(update={"files": [f.replace(SMT2, place) for f in item.files]})
        for item in run().items(HOLDS.id)
    ]
    return replace(run().with_items(HOLDS.id, items), files=moved).packed()


def unasked() -> bytes:
    """The run without any question that is named by the claim's first property."""
    return proof(lambda name, data: data.replace(b"P12 ", b"P99 ").replace(b"P12\n", b"P99\n"))


def frames(number: int, **parts: Any) -> Callable[[Any], Any]:
    """A trace with one frame changed."""

    def change(trace: Any) -> Any:
        made = list(trace.frames)
        made[number] = made[number].model_copy(update=parts)
        return trace.model_copy(update={"frames": made})

    return change


def told_otherwise() -> Any:
    """The run of the sentence that was tried, without its last frame."""
    trace = run().items(TRIED.id)[0].trace
    assert trace
    return trace.model_copy(update={"frames": trace.frames[:-1]})


def graph(change: Callable[[Any], Any]) -> bytes:
    """The run with another graph."""
    return run_with(graphs=[change(run().evidence.graphs[0])])


def exchanged_words(graph: Any) -> Any:
    """A graph in which two nodes have taken each other's words."""
    one, other, *rest = graph.nodes
    nodes = [one.model_copy(update={"words": other.words}), other.model_copy(update={"words": one.words}), *rest]
    return graph.model_copy(update={"nodes": nodes})


def exchanged_names(graph: Any) -> Any:
    """A graph in which two nodes have taken each other's name and words, and nothing else."""
    one, other, *rest = graph.nodes
    named = [{"name": each.name, "words": each.words} for each in (other, one)]
    return graph.model_copy(
        update={"nodes": [one.model_copy(update=named[0]), other.model_copy(update=named[1]), *rest]}
    )


def without_item(number: int) -> bytes:
    """The run without one item of the claim that holds."""
    items = run().items(HOLDS.id)
    return run().with_items(HOLDS.id, items[:number] + items[number + 1 :]).packed()


def larger() -> bytes:
    """A machine with more states, and each figure adapted."""
    made = run()
    for number, item in enumerate(made.items(HOLDS.id)):
        if item.figures.keys() == {"states", "transitions"}:
            made = made.with_item(HOLDS.id, number, figures={"states": 10**6, "transitions": 10**7})
    machine = made.evidence.machines[0].model_copy(update={"states": 10**6, "transitions": 10**7})
    return replace(
        made,
        evidence=made.evidence.model_copy(update={"machines": [machine, *made.evidence.machines[1:]], "graphs": []}),
    ).packed()


def without_kills() -> bytes:
    """The campaigns without those that kill, and each figure adapted."""
    made = run().with_item(HOLDS.id, CRASH, figures=figures(CRASH, schedules=6))
    left = [campaign for campaign in made.evidence.schedules if campaign.by != "SIGKILL"]
    return replace(made, evidence=made.evidence.model_copy(update={"schedules": left})).packed()


def exchanged() -> bytes:
    """The run in which counterexample and witness have taken each other's place."""
    one, other = run().items(HOLDS.id)[WITNESS].trace, run().items(WITHOUT.id)[0].trace
    return run().with_item(HOLDS.id, WITNESS, trace=other).with_item(WITHOUT.id, 0, trace=one).packed()


def events(change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    """The run with another event stream."""
    lines = run().files[STREAM].splitlines(keepends=True)
    return whole(**{STREAM: b"".join(change(lines))})


def without_claim() -> bytes:
    """The claim that is refuted, taken out of register and evidence alike."""
    register = replace(REGISTER, claims=tuple(c for c in REGISTER.claims if c.id != WITHOUT.id))
    evidence = run().evidence.model_copy(update={"claims": [c for c in run().evidence.claims if c.claim != WITHOUT.id]})
    return resigned({**derived(evidence, register), **run().files}, evidence)


def sentence() -> bytes:
    """The register with a stronger sentence, and every report that follows from it."""
    claims = tuple(replace(c, sentence="Nothing can go wrong.") if c.id == HOLDS.id else c for c in REGISTER.claims)
    return resigned({**derived(run().evidence, replace(REGISTER, claims=claims)), **run().files})


def results(change: Callable[[Any], Any]) -> bytes:
    """The run with other results of claims."""
    return run_with(claims=change(list(run().evidence.claims)))


def first(part: str, **more: Any) -> dict[str, Any]:
    """A part of the evidence with its first entry changed."""
    entries = list(getattr(run().evidence, part))
    entries[0] = entries[0].model_copy(update=more)
    return {part: entries}


def text(change: Callable[[bytes], bytes]) -> bytes:
    """The evidence as another text, all else as it follows from the honest one."""
    return whole(**{"evidence.json": change(run().whole()["evidence.json"])})


LIES: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "NOT CHECKED called EXHAUSTED": (lambda: lied(0, "LATER", verdict=Verdict.EXHAUSTED), "verdicts", "claim LATER"),
    "NOT CHECKED called PROVED": (lambda: lied(0, "LATER", verdict=Verdict.PROVED), "verdicts", "claim LATER"),
    "a counterexample called EXHAUSTED": (lambda: lied(0, WITHOUT.id, verdict=Verdict.EXHAUSTED), "verdicts", f"claim {WITHOUT.id}"),
    "a crash campaign called EXHAUSTED": (lambda: lied(CRASH, verdict=Verdict.EXHAUSTED), "verdicts", f"claim {HOLDS.id}, crash"),
    "a crash campaign called PROVED": (lambda: lied(CRASH, verdict=Verdict.PROVED), "verdicts", "crash gives no such verdict"),
    "a sample called PROVED": (lambda: lied(AGAIN, verdict=Verdict.PROVED), "obligations", "2 of"),
    "a search called PROVED": (lambda: lied(WITNESS, verdict=Verdict.PROVED), "verdicts", "explore gives no such verdict"),
    "a success called REFUTED": (lambda: lied(CRASH, verdict=Verdict.REFUTED), "verdicts", "there is no counterexample"),
    "a witness called a counterexample": (lambda: lied(WITNESS, verdict=Verdict.REFUTED), "replays", "no counterexample"),
    "no run tried": (lambda: lied(CRASH, figures={"schedules": 0}), "verdicts", "has not the figures"),
    "more runs than there were": (lambda: lied(CRASH, figures=figures(CRASH, schedules=13)), "totals", "13 schedules"),
    "runs that failed": (lambda: lied(CRASH, figures=figures(CRASH, not_run_as_meant=1)), "verdicts", "say otherwise"),
    "a figure below 0": (lambda: lied(CRASH, figures=figures(CRASH, more=-1)), "verdicts", "below 0"),
    "more states": (lambda: lied(WITNESS, figures=figures(WITNESS, states=10**6)), "totals", "1000000 states"),
    "more obligations": (lambda: lied(0, figures=figures(0, obligations=10**6)), "obligations", "1000000 obligations"),
    "fewer questions": (lambda: lied(0, figures=figures(0, questions_in_files=3)), "obligations", "rests on 3 questions"),
    "no solver named": (lambda: lied(0, figures=figures(0, solver="")), "verdicts", "names no solver"),
    "no files named": (lambda: lied(0, files=[]), "verdicts", "names no file"),
    "files of another proof": (lambda: lied(0, files=["smt2/hardened/"]), "files", "smt2/hardened/"),
    "no statement": (lambda: lied(CRASH, statement=" "), "verdicts", "no statement"),
    "no command": (lambda: lied(CRASH, command="rm -rf /"), "verdicts", "no command"),
    "a command behind the command": (lambda: lied(CRASH, command="crashwindow verify; rm -rf /"), "verdicts", "nothing else in a shell"),
    "a command within the command": (lambda: lied(CRASH, command="crashwindow replay $(id)"), "verdicts", "nothing else in a shell"),
    "a proof of another model": (lambda: elsewhere("smt2/hardened/"), "obligations", "claim P12 is about recorded-hardened"),
    "the proof of the windows": (lambda: elsewhere("smt2/recorded-hardened-windows/"), "obligations", "is the proof of the table of windows"),
    "a proof of nothing that is named": (lambda: lied(0, statement="By induction it holds."), "obligations", "the item names none of P12"),
    "a proof that asks something else": (unasked, "obligations", "nothing in it is asked about P12"),
    "a counterexample under a key that nobody replays": (lambda: frame(lambda t: t.model_copy(update={"key": "told:" + t.key})),
                                                         "replays", f"claim {WITHOUT.id}: explore shows no run by the key 'told:"),
    "a run beside a campaign": (lambda: lied(CRASH, trace=run().items(WITHOUT.id)[0].trace), "replays", "crash shows no run"),
    "a model left out": (lambda: run_with(machines=[]), "models", "model recorded-hardened: claims rest on it"),
    "a witness dropped": (lambda: lied(WITNESS, trace=None), "verdicts", "no run shows"),
    "a counterexample dropped": (lambda: lied(0, WITHOUT.id, trace=None), "verdicts", "there is no counterexample"),
    "refuting items dropped": (lambda: run().with_items(WITHOUT.id, []).packed(), "outcome", f"claim {WITHOUT.id}"),
    "the weakest link taken away": (lambda: run().with_items(HOLDS.id, [i for i in run().items(HOLDS.id) if i.checker != "crash"]).packed(),
                                    "claims", f"claim {HOLDS.id}: the register names crash"),
    "an expectation changed": (lambda: results(lambda c: [c[0], c[1].model_copy(update={"expected": Verdict.NOT_CHECKED}), *c[2:]]),
                               "claims", f"claim {WITHOUT.id}: the evidence expects"),
    "a claim dropped from the evidence": (lambda: results(lambda c: [c[0], *c[2:]]), "claims", f"claim {WITHOUT.id}"),
    "a claim told twice": (lambda: results(lambda c: [*c, c[0]]), "claims", f"claim {HOLDS.id}: the evidence speaks of it 2 times"),
    "a claim of one's own": (lambda: results(lambda c: [*c, c[2].model_copy(update={"claim": "P99"})]), "claims", "claim P99"),
    "a claim dropped from register and evidence": (without_claim, "register", f"claim {WITHOUT.id} is not in it"),
    "a stronger sentence in the register": (sentence, "register", f"claim {HOLDS.id} says something else"),
    "what is not checked left out": (lambda: run_with(not_checked=[]), "claims", "not checked"),
    "a scenario dropped": (lambda: run_with(scenarios=[]), "verdicts", "no scenario of the run"),
    "one scenario dropped": (lambda: run_with(scenarios=run().evidence.scenarios[:-1]), "tables", "it is missing"),
    "a scenario of one's own": (lambda: run_with(scenarios=[*run().evidence.scenarios, run().evidence.scenarios[-1].model_copy(
        update={"name": "anything-goes"})]), "tables", "scenario anything-goes: this program has none"),
    "a scenario that expects something else": (lambda: run_with(**first("scenarios", expected="holds")), "tables", "it expects"),
    "a scenario's observation in other words": (lambda: run_with(**first("scenarios", observed="it cannot happen")), "tables",
                                                "'it cannot happen'"),
    "a scenario twice": (lambda: run_with(scenarios=run().evidence.scenarios * 2), "totals", "it is there twice"),
    "a report edited": (lambda: whole(**{"report.html": run().whole()["report.html"].replace(b"REFUTED", b"PROVED")}),
                        "reports", "report.html"),
    "Markdown edited": (lambda: whole(**{"report.md": b"# All is well\n"}), "reports", "report.md"),
    "a report dropped": (lambda: whole(**{"report.md": None}), "reports", "report.md: it is missing"),
    "the schema exchanged": (lambda: whole(**{"evidence.schema.json": b"{}"}), "evidence", "evidence.schema.json"),
    "the register as no register": (lambda: whole(**{"register.json": b"[]"}), "register", "register.json"),
    "the register in another order": (lambda: whole(**{"register.json": register_json(REGISTER) + b"\n"}), "register", "not written"),
    "a file that nothing speaks of": (lambda: whole(**{"README.txt": b"trust me"}), "files", "README.txt: nothing"),
    "an obligation replaced by a trivial one": (lambda: proof(trivial), "obligations", f"{RULE}: "),
    "an obligation with a false assumption": (lambda: proof(assuming), "obligations", f"{RULE}: "),
    "an obligation with another goal": (lambda: proof(goalless), "goals", f"{RULE}: "),
    "an obligation dropped": (lambda: proof(lambda n, d: None if n == RULE else d), "obligations", "is missing"),
    "the last obligation dropped": (lambda: proof(lambda n, d: None if n == LAST else d), "goals", LAST),
    "an obligation emptied": (lambda: proof(lambda n, d: b"" if n == RULE else d), "obligations", f"{RULE}: nothing is asked"),
    "an obligation without an answer": (lambda: proof(lambda n, d: d.replace(b"(set-info :status unsat)\n", b"") if n == RULE else d),
                                        "obligations", f"{RULE}: no answer"),
    "another answer stated": (lambda: proof(lambda n, d: d.replace(b":status unsat", b":status sat") if n == RULE else d), "goals", RULE),
    "a command in an obligation": (lambda: proof(lambda n, d: b"(exit)\n" + d if n == RULE else d), "obligations", f"{RULE}: '(exit)'"),
    "all obligations of one rule renamed": (lambda: proof(lambda n, d: d.replace(b"keeps the", b"kept the") if n == RULE else d),
                                            "obligations", "nothing is asked about the rule"),
    "a frame of a run changed": (lambda: frame(frames(1, changed={"at": "use"})), "replays", "frame 1"),
    "a frame's rule changed": (lambda: frame(frames(1, rule="crash")), "replays", f"{TRACE}: frame 1"),
    "a frame's actor changed": (lambda: frame(frames(1, actor="person")), "replays", f"{TRACE}: frame 1"),
    "a frame dropped": (lambda: frame(lambda t: t.model_copy(update={"frames": t.frames[:-1]})), "replays", f"{TRACE}: its key has"),
    "a shorter run": (lambda: frame(lambda t: t.model_copy(update={"frames": t.frames[:-1], "key": t.key[:-2]})),
                      "replays", f"{TRACE}: "),
    "another key": (lambda: frame(lambda t: t.model_copy(update={"key": t.key[:-1] + "99"})), "replays", f"{TRACE}: its key is none"),
    "a key of no model": (lambda: frame(lambda t: t.model_copy(update={"key": "model:nothing:0"})), "replays", "names no model"),
    "counterexample and witness exchanged": (exchanged, "replays", f"claim {WITHOUT.id}, {TRACE}"),
    "a run of its own beside the evidence": (lambda: whole(**{TRACE: run().whole()[TRACE].replace(b"first", b"other", 1)}), "traces", TRACE),
    "another model's hash": (lambda: run_with(**first("machines", sha256="0" * 64)), "models", "model recorded-hardened"),
    "another number of rules": (lambda: run_with(**first("machines", rules=1)), "models", "1 rules"),
    "a model of one's own": (lambda: run_with(**first("machines", policy="perfect")), "models", "model perfect"),
    "a window that does not agree": (lambda: run_with(**first("windows", derived_at_crash=["0"])), "totals", "window 2"),
    "a window stated and derived otherwise": (lambda: run_with(**first("windows", predicted_at_crash=["1", "2"],
        derived_at_crash=["1", "2"])), "tables", "window 2: its predicted_at_crash"),
    "a window's advice changed": (lambda: run_with(**first("windows", advice="nothing is to be done")), "tables", "window 2: its advice"),
    "a window of which nothing is left": (lambda: run_with(**first("windows", states=0)), "tables", "window 2: 0 states are said"),
    "a window whose row is not proved": (lambda: run_with(**first("windows", proof=Verdict.TESTED)), "tables", "window 2: its row is TESTED"),
    "a window dropped": (lambda: run_with(windows=run().evidence.windows[:-1]), "tables", "window 0w: it is missing"),
    "an edge of the contract dropped": (lambda: run_with(**first("contracts", edges=run().evidence.contracts[0].edges[1:])),
                                        "tables", "contracts on SQLite: the edge"),
    "a cell of the matrix turned": (lambda: needs(answer="not needed", verdict=Verdict.EXHAUSTED, key="", steps=0), "tables",
                                    "P3 without catch-up: not needed is not what this program states"),
    "a proof in the matrix of what is needed": (lambda: needs(verdict=Verdict.PROVED), "tables", "P3 without catch-up: needed is no answer"),
    "a cell without its run": (lambda: needs(key=""), "tables", "P3 without catch-up: a run that breaks it"),
    "a run in the matrix that is none": (lambda: needs(key=NEED.key + "/99"), "tables", "P3 without catch-up: its key is none"),
    "a run in the matrix that breaks nothing": (lambda: needs(key=NEED.key[:-8], steps=13), "tables",
                                                "P3 without catch-up: its run does not break"),
    "a run of two workers that breaks nothing": (lambda: needs(**FENCED | {"key": FENCED["key"][:-2], "steps": 8}), "tables",
                                                 "P5 without fence-ledger: its run does not break"),
    "a run of two workers that breaks something else": (lambda: needs(**FENCED | {"property": "P2"}), "tables",
                                                        "P2 without fence-ledger: its run does not break"),
    "a run of another machine": (lambda: needs(**FENCED | {"mechanism": "fence-effects"}), "tables",
                                 "P5 without fence-effects: its key is of no machine that lacks this"),
    "the matrix's bounds reworded": (lambda: run_with(necessity=Necessity(bounds=["All."], cells=[NEED], sets=[], idle=[], ambiguity=[])),
                                     "tables", "the matrix's bounds"),
    "a second opinion on one question": (lambda: lied(AGAIN, figures={**figures(AGAIN), "obligations": 1, "proofs checked": 1}),
                                         "obligations", f"claim {HOLDS.id}: cvc5 is said to have proved 1"),
    "a second opinion on another proof": (lambda: lied(AGAIN, files=[FIRST]), "obligations", f"claim {HOLDS.id}: cvc5 was not asked"),
    "a second opinion on more than there is": (lambda: lied(AGAIN, figures=figures(AGAIN, obligations=10**6)), "obligations",
                                               f"claim {HOLDS.id}: 1000000 questions"),
    "steps in the matrix that nobody took": (lambda: needs(steps=99), "tables", "P3 without catch-up: 99 steps are stated"),
    "crashes that nobody counted": (lambda: run_with(**first("windows", observed=run().evidence.windows[0].observed.model_copy(
        update={"crashes": 10**6}))), "totals", "window 2"),
    "the killed processes dropped": (lambda: run_with(schedules=[s for s in run().evidence.schedules if s.by != "SIGKILL"]), "parts",
                                     "the campaign killed processes: it is missing"),
    "the killed processes dropped, and figures adapted": (without_kills, "parts", "the campaign shipped tools: it is missing"),
    "snapshots called kills": (lambda: run_with(**first("schedules", by="SIGKILL")), "parts", "the campaign snapshots: its schedules"),
    "a campaign of one's own": (lambda: run_with(schedules=[*run().evidence.schedules, run().evidence.schedules[0].model_copy(
        update={"name": "everything"})]), "parts", "the campaign everything: this program has none"),
    "a campaign that struck nothing": (lambda: run_with(**first("schedules", boundaries={})), "parts", "nothing was struck"),
    "fewer schedules than a claim tells of": (lambda: lied(CRASH, figures=figures(CRASH, schedules=11)), "parts",
                                              f"claim {HOLDS.id}: 11 schedules; the campaigns of streams/crash/ have 12"),
    "the mutants dropped": (lambda: run_with(kills=[]), "parts", "mutants of recorded-hardened: it is missing"),
    "a class of mutants dropped": (lambda: run_with(kills=run().evidence.kills[1:]), "parts", "mutants of recorded-hardened: 30, and the"),
    "a class of mutants twice": (lambda: run_with(kills=[run().evidence.kills[0]] * 6), "parts", "recorded-hardened, rule dropped: it is"),
    "mutants of something else": (lambda: run_with(kills=[*run().evidence.kills, run().evidence.kills[0].model_copy(
        update={"subject": "fleet"})]), "parts", "mutants of fleet: this program has none"),
    "mutants of the runtime in the quick profile": (lambda: run_with(kills=[*run().evidence.kills, run().evidence.kills[0].model_copy(
        update={"subject": "step"})]), "parts", "mutants of the runtime: the quick profile makes none"),
    "mutants that nobody asked further about left out": (lambda: run_with(kills=[run().evidence.kills[0].model_copy(
        update={"unasked": 0}), *run().evidence.kills[1:]]), "totals", "0 not asked further, 0 gaps are not 6"),
    "mutants of a fleet not asked further": (lambda: run_with(kills=[*run().evidence.kills, run().evidence.kills[0].model_copy(
        update={"subject": "fleet-recorded"})]), "parts", "1 not asked further, of which the profile has none"),
    "how far the ways agree on a fleet's mutants left out": (lambda: run_with(kills=[*run().evidence.kills,
        run().evidence.kills[0].model_copy(update={"subject": "fleet-recorded"})]), "parts", "not said how far the ways"),
    "ways that agree on other mutants than there are": (lambda: run_with(kills=[run().evidence.kills[0].model_copy(
        update={"agreed": {"4": 1}}), *run().evidence.kills[1:]]), "totals", "agree, or do not, on 1 of 6"),
    "a mutant that nobody kills left unnamed": (lambda: run_with(kills=[run().evidence.kills[0].model_copy(
        update={"survivors": {}}), *run().evidence.kills[1:]]), "totals", "0 are named that are not killed, of 0 + 0 + 1"),
    "more mutants killed by what is stated alone than are killed": (lambda: run_with(kills=[run().evidence.kills[0].model_copy(
        update={"stated": 999}), *run().evidence.kills[1:]]), "totals", "999 killed by what is stated alone, of"),
    "mutants called harmless that nobody asked further about": (lambda: run_with(kills=[run().evidence.kills[0].model_copy(
        update={"safe": 1, "unasked": 0}), *run().evidence.kills[1:]]), "parts", "1 safe, proved, and the quick profile asks too few"),
    "a part of the mutants that the profile does not take": (lambda: run_with(kills=[run().evidence.kills[0].model_copy(
        update={"one_in": 4}), *run().evidence.kills[1:]]), "parts", "one in 4 judged, which the profile does not say"),
    "a planted defect twice": (lambda: run_with(mutants=run().evidence.mutants * 2), "parts", "it is there 2 times"),
    "the graphs dropped": (lambda: run_with(graphs=[]), "parts", "the graph of recorded-hardened: it is missing"),
    "words of a graph's nodes exchanged": (lambda: graph(exchanged_words), "parts", "the graph of recorded-hardened: its nodes"),
    "names of a graph's nodes exchanged": (lambda: graph(exchanged_names), "parts", "the graph of recorded-hardened: its nodes"),
    "a graph's sentence": (lambda: graph(lambda g: g.model_copy(update={"quotient": "all states"})), "parts", "its nodes, edges"),
    "rules that are never reached left out": (lambda: run_with(**first("machines", unreached=["crash"])), "models",
                                              "model recorded-hardened: states, transitions and the rules that are never reached"),
    "a larger machine, told twice": (larger, "models", "model recorded-hardened: states, transitions"),
    "a tried sentence in other words": (lambda: lied(0, TRIED.id, statement="it cannot happen"), "sentences", f"claim {TRIED.id}: tried on"),
    "a frame of a run of the runtime": (lambda: lied(0, TRIED.id, trace=told_otherwise()), "sentences", f"claim {TRIED.id}: tried on"),
    "a tried sentence under another command": (lambda: lied(0, TRIED.id, command="crashwindow verify"), "sentences", f"claim {TRIED.id}"),
    "a sentence that nobody can try": (lambda: lied(CRASH, command="crashwindow replay text:P12"), "sentences", f"claim {HOLDS.id}"),
    "an item dropped beside others of its checker": (lambda: without_item(WITNESS), "items",
                                                     f"claim {HOLDS.id}, explore, EXHAUSTED: the item with states, transitions is due (P12), and it is"),
    "an item added": (lambda: run().with_items(HOLDS.id, [*run().items(HOLDS.id), run().items(HOLDS.id)[CRASH]]).packed(), "items",
                      f"claim {HOLDS.id}, crash, TESTED, 'no schedule broke it': an item with"),
    "a crash campaign called EXHAUSTED, with figures": (lambda: lied(CRASH, verdict=Verdict.EXHAUSTED, figures=figures(
        CRASH, images=5, recorded_operations=9)), "items", "'no schedule broke it': it is EXHAUSTED, and TESTED is due"),
    "a figure beside those of a search, and no witness": (lambda: lied(WITNESS, figures=figures(WITNESS, workers=1), trace=None),
                                                          "items", "its figures are states, transitions, workers"),
    "a store of which nobody knows": (lambda: run_with(contracts=[*run().evidence.contracts, run().evidence.contracts[0].model_copy(
        update={"store": "Oracle"})]), "parts", "contracts on Oracle: this program has none"),
    "a cell of no mechanism": (lambda: needs(mechanism="luck", answer="not needed", verdict=Verdict.EXHAUSTED, key="", steps=0), "tables",
                               "the matrix's cell P3 × luck: this program has none"),
    "outcomes that do not add up": (lambda: run_with(**first("schedules", outcomes={"completed/1": 2})), "totals", "campaign snapshots"),
    "a violation that refutes nothing": (lambda: run_with(**first("schedules", violations=["crash:x"])), "totals", "1 schedules broke"),
    "an event altered": (lambda: events(lambda x: [*x[:3], x[3].replace(b'"epoch":1', b'"epoch":2'), *x[4:]]), "streams",
                         f"{STREAM}, line 4"),
    "an event dropped": (lambda: events(lambda x: [*x[:2], *x[3:]]), "streams", f"{STREAM}, line 3"),
    "events exchanged": (lambda: events(lambda x: [x[0], x[2], x[1], *x[3:]]), "streams", f"{STREAM}, line 2"),
    "an event of another job": (lambda: events(lambda x: [*x[:3], x[3].replace(b'"job_id":"job"', b'"job_id":"c"'), *x[4:]]),
                                "streams", STREAM),
    "records altered": (lambda: events(lambda x: [x[0].replace(b"COMMITTED", b"UNKNOWN"), *x[1:]]), "runs",
                        f"{STREAM}, line 1: step 'a': ledger and effect store say"),
    "an effect more": (lambda: whole(**{WORLD: run().files[WORLD] * 2}), "runs", "the world's file has 2 effects"),
    "a world's file emptied": (lambda: whole(**{WORLD: b""}), "runs", "the world's file has 0 effects"),
    "a world's file dropped": (lambda: whole(**{WORLD: None}), "runs", f"{STREAM}: a stream and the world's file"),
    "a stream cut off": (lambda: events(lambda x: [*x[:-1], x[-1][:-5]]), "streams", STREAM),
    "a stream emptied": (lambda: events(lambda x: []), "streams", f"{STREAM}: it is empty"),
    "another schema version": (lambda: text(lambda t: t.replace(b'"schema_version": 4', b'"schema_version": 2')), "evidence",
                               "schema_version is 2"),
    "NaN": (lambda: text(lambda t: t.replace(b'"seed": 7', b'"seed": NaN')), "evidence", "NaN"),
    "a name twice": (lambda: text(lambda t: t.replace(b'"seed": 7', b'"seed": 7,\n"seed": 7')), "evidence", "'seed' is there twice"),
    "a seed that others round": (lambda: text(lambda t: t.replace(b'"seed": 7', b'"seed": 9007199254740992')), "evidence", "beyond"),
    "a number that is none": (lambda: text(lambda t: t.replace(b'"seed": 7', b'"seed": 1e999')), "evidence", "can hold"),
    "a byte order mark": (lambda: text(lambda t: b"\xef\xbb\xbf" + t), "evidence", "evidence.json: it is no JSON"),
    "no evidence": (lambda: whole(**{"evidence.json": b""}), "evidence", "evidence.json: it is no JSON"),
    "more in the evidence": (lambda: text(lambda t: t.replace(b'"seed": 7', b'"sead": 7')), "evidence", "evidence.json: "),
    "another notation": (lambda: text(lambda t: t + b"\n"), "evidence", "not written as evidence is"),
    "deep nesting": (lambda: text(lambda t: b"[" * 200000), "evidence", "evidence.json: it is no JSON"),
}  # fmt: skip
"""Lies that whoever holds the trusted key has sealed: each with the check that finds it, and what it names."""


# An audit each: four in five of these are left to `make deep`.
@pytest.mark.parametrize(
    "lie", [each if n % 5 == 0 else pytest.param(each, marks=pytest.mark.deep) for n, each in enumerate(LIES)]
)
def test_a_lie_under_the_trusted_key_is_found(lie: str) -> None:
    """Hashes and signature are right; what is said does not follow, and the claim or file is named."""
    make, check, words = LIES[lie]
    found(make(), check, words)


def test_a_false_assumption_in_every_obligation_is_found_by_cvc5() -> None:
    """Where all obligations assume the same falsehood, none differs from its neighbours: cvc5 finds that what should be possible
    is not."""

    def falsified(name: str, data: bytes) -> bytes:
        return data.replace(b"(declare-fun", b"(assert false)\n(declare-fun", 1)

    found(proof(falsified), "recheck", "sat is stated, cvc5 says unsat", recheck=True)


def test_a_true_matrix_is_none_of_these_lies() -> None:
    """The cells that the lies about the matrix begin with are found to be right: each of them is found for what it says."""
    assert audited(needs()).result == "PASS"
    assert audited(needs(**FENCED)).result == "PASS"


def test_every_check_finds_something() -> None:
    """No check is idle: by each some attack is found, but by `code`, which says what is not audited."""
    used = {check for _, check, _ in (*SEALS.values(), *LIES.values())} | {"archive", "recheck", "code"}
    assert {check.name for check in audited(honest()).checks} == used


def test_there_are_many_kinds() -> None:
    """At least forty kinds of attack, each under a name of its own."""
    assert len({*ARCHIVES, *SEALS, *LIES}) == len(ARCHIVES) + len(SEALS) + len(LIES) > 120


def test_what_an_envelope_needs() -> None:
    """The honest envelope is the one that was written, so that an attack on it is on what is really there."""
    assert envelope(payload(), OURS) == honest_files()[ENVELOPE]
    assert isinstance(run(), Run)
