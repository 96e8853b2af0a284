"""A bundle is the same bytes for the same run, its tree is RFC 6962's, its envelope is DSSE's, and the honest one passes."""

import base64
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from crashwindow.__main__ import main
from crashwindow.reports.audit.outcome import CODES
from crashwindow.reports.audit.recheck import recheck
from crashwindow.reports.audit.run import Asked, audit
from crashwindow.reports.audit.smtlib import ScriptError, questions
from crashwindow.reports.audit.streams import streams
from crashwindow.reports.bundle.archive import ArchiveError, pack, unpack
from crashwindow.reports.bundle.contents import bundle
from crashwindow.reports.bundle.manifest import ENVELOPE, MANIFEST
from crashwindow.reports.bundle.merkle import merkle_root, tree_hash
from crashwindow.reports.bundle.statement import KeyFileError, private_key, public_key, signed_bytes
from crashwindow.reports.files import EvidenceError, forms

from .small_bundle import OTHER, OURS, REGISTER, SMT2, STREAM, audited, looked_at_once, owed, run


@pytest.fixture(autouse=True, scope="module")
def contents_once() -> Iterator[None]:
    """Signed or not, a bundle has the same contents."""
    with looked_at_once():
        yield


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small run as a directory."""
    place = tmp_path_factory.mktemp("run")
    for name, data in run().files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    (place / "evidence.json").write_text(forms(run().evidence)["evidence.json"], encoding="utf-8")
    return place


def test_the_same_run_gives_the_same_bytes(directory: Path) -> None:
    """Bundling a run twice gives the same bytes, signed or not; and what is read back is what was packed."""
    for key in (None, OURS):
        assert bundle(directory, key, REGISTER) == bundle(directory, key, REGISTER) == run().packed(key)
    assert list(unpack(run().packed())) == sorted({*run().whole(), MANIFEST, ENVELOPE})


def test_an_honest_bundle_passes_every_check() -> None:
    """Every check that is asked for says PASS, with words; what nobody asked for says NOT DONE and takes nothing away."""
    made = audited(run().packed())
    assert [(c.name, c.words) for c in made.checks if c.verdict != "PASS"] == [
        ("recheck", ("--recheck asks cvc5 every obligation",)),
    ]
    assert (made.result, CODES[made.result]) == ("PASS", 0)


def test_unsigned_and_untrusted_are_no_pass() -> None:
    """Without a signature the result is UNSIGNED, without a key UNTRUSTED, of other code INCOMPLETE: each exits with 3."""
    assert audited(run().packed(None)).result == "UNSIGNED"
    assert audit(run().packed(), Asked(register=REGISTER, due=owed)).result == "UNTRUSTED"
    assert audit(run().packed(None), Asked(register=REGISTER, due=owed)).result == "UNSIGNED"
    info = run().evidence.run.model_copy(update={"code_sha256": "0" * 64})
    other = type(run())(run().evidence.model_copy(update={"run": info}), run().files)
    assert audited(other.packed()).result == "INCOMPLETE"
    assert {CODES[name] for name in ("UNSIGNED", "UNTRUSTED", "INCOMPLETE")} == {3}


def test_other_code_accuses_nobody() -> None:
    """What this program would have made of the evidence of other code is no measure of it: what differs is not done, and named;
    what needs no code, the links of a stream, fails all the same, and nothing of it is a pass."""
    evidence = run().evidence
    machines = [evidence.machines[0].model_copy(update={"states": 1}), *evidence.machines[1:]]
    info = evidence.run.model_copy(update={"code_sha256": "0" * 64})
    own = type(run())(evidence.model_copy(update={"machines": machines}), run().files)
    other = type(run())(evidence.model_copy(update={"machines": machines, "run": info}), run().files)
    assert audited(own.packed()).result == "FAIL"
    made = audited(other.packed())
    assert made.result == "INCOMPLETE"
    assert any(c.verdict == "NOT DONE" and "whose code is not the run's" in c.words[0] for c in made.checks)
    stream = next(name for name in run().files if name.startswith("streams/") and name.endswith(".jsonl"))
    lines = run().files[stream].splitlines(keepends=True)
    torn = type(run())(other.evidence, {**run().files, stream: b"".join([*lines[:1], *lines[2:]])})
    assert audited(torn.packed()).result == "FAIL"


def test_a_tree_is_that_of_rfc_6962() -> None:
    """The test vectors of Certificate Transparency (RFC 6962) for trees of 0 to 8 leaves come out."""
    leaves = [bytes.fromhex(x) for x in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657",
                                         "606162636465666768696a6b6c6d6e6f")]  # fmt: skip
    roots = {0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
             1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
             3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
             8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"}  # fmt: skip
    assert {n: tree_hash(leaves[:n]).hex() for n in roots} == roots
    assert merkle_root({"a": b"1", "b": b"2"}) != merkle_root({"a": b"2", "b": b"1"})
    assert merkle_root({"a": b"1"}) != merkle_root({"b": b"1"})


def test_what_is_signed_is_dsse() -> None:
    """The pre-authentication encoding is the one of DSSE's own test vector, and the payload an in-toto statement."""
    assert signed_bytes("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    envelope = json.loads(unpack(run().packed())[ENVELOPE])
    payload = base64.b64decode(envelope["payload"])
    OURS.public_key().verify(
        base64.b64decode(envelope["signatures"][0]["sig"]), signed_bytes(envelope["payloadType"], payload)
    )
    said = json.loads(payload)
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    files = unpack(run().packed())
    assert said["subject"][0]["digest"]["sha256"] == hashlib.sha256(files[MANIFEST]).hexdigest()


def test_a_key_that_is_none_is_refused() -> None:
    """No text, no key of another kind and no private key where a public one is due is taken; the words say what to do."""
    with pytest.raises(KeyFileError, match="no private key"):
        private_key(b"not a key")
    with pytest.raises(KeyFileError, match="no public key"):
        public_key(b"not a key")


def test_a_run_without_its_files_makes_no_bundle(directory: Path, tmp_path: Path) -> None:
    """A file on which a verdict rests and that is missing, a link, and altered evidence are refused by name."""
    with pytest.raises(EvidenceError, match=r"cannot be read"):
        bundle(tmp_path)
    text = (directory / "evidence.json").read_text(encoding="utf-8")
    (tmp_path / "evidence.json").write_text(text, encoding="utf-8")
    with pytest.raises(EvidenceError, match="claim P12 rests on it, and it holds nothing"):
        bundle(tmp_path)
    (tmp_path / "smt2").symlink_to(directory / "smt2")
    (tmp_path / STREAM).parent.mkdir(parents=True)
    (tmp_path / STREAM).symlink_to(directory / STREAM)
    with pytest.raises(EvidenceError, match=STREAM):
        bundle(tmp_path)
    (tmp_path / STREAM).unlink()
    (tmp_path / STREAM).write_bytes(run().files[STREAM])
    (tmp_path / "evidence.json").write_text(text + "\n", encoding="utf-8")
    with pytest.raises(EvidenceError, match="altered"):
        bundle(tmp_path)


def test_a_name_without_a_place_is_refused() -> None:
    """A bundle is not written with a name that an audit would refuse."""
    for name in ("/a", "../a", ".a", "a//b", "a b", "ä", "x" * 101):
        with pytest.raises(ArchiveError):
            pack({name: b""})


def test_every_obligation_is_proved_again_by_cvc5() -> None:
    """cvc5 gives the stated answer to each question of the small machine; a stated answer that is wrong is named."""
    some = {name: data for name, data in run().files.items() if name.startswith(SMT2) and b"can fire" not in data}
    names = sorted(some)
    chosen = {name: some[name] for name in (names[0], names[1], *(n for n in names if "consistent" in n))}
    assert recheck(chosen)[0] == []
    wrong = {**chosen, names[1]: chosen[names[1]].replace(b":status unsat", b":status sat")}
    assert any(words.startswith(names[1]) for words in recheck(wrong)[0])


def test_an_assumption_that_cannot_hold_is_found_by_cvc5() -> None:
    """A proof to all of whose questions somebody has added a false assumption agrees with each answer but one."""
    name = next(n for n, d in run().files.items() if n.startswith(SMT2) and b":status unsat" in d and "rule" in n)
    attacked = run().files[name].replace(b"(declare-fun", b"(assert false)\n(declare-fun", 1)
    assert recheck({name: run().files[name]})[0] == []
    assert [words for words in recheck({name: attacked})[0] if "what is assumed" in words]


def test_what_is_no_list_of_questions_is_refused() -> None:
    """A script that says more than questions, or less, is not read: commands could change what an answer means."""
    for text, words in (
        (b"(exit)", "no part of a question"),
        (b"(set-option :produce-models true)", "no part of a question"),
        (b"(define-fun f () Int 0)", "no part of a question"),
        (b"(assert true)(check-sat)", "no answer is stated"),
        (b"(set-info :status sat)(check-sat)", "no goal"),
        (b"(set-info :status sat)", "before its last question"),
        (b"(assert true", "within a command"),
        (b"(pop 1)", "without a push"),
        (b")", "not opened"),
        (b"", "nothing is asked"),
        (b"\xff", "no plain text"),
    ):
        with pytest.raises(ScriptError, match=words):
            questions(text)


def test_the_chain_is_computed_as_the_runtime_does() -> None:
    """The audit's own chain of hashes agrees with the runtime's on each event."""
    found = streams({STREAM: run().files[STREAM]})
    assert (found.problems, found.events, found.linked, found.jobs) == ([], 12, 12, 1)


def test_a_models_hash_does_not_depend_on_the_interpreter() -> None:
    """Two interpreters with other seeds for their sets give a fleet's model one hash."""
    program = (
        "from crashwindow.model.fingerprint import machine_sha256 as h;"
        "from crashwindow.scenarios.machines import machine_of as m; print(h(m('fleet-lease-alone')))"
    )
    said = {
        subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True,
                       text=True, check=True).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(said) == 1


def test_the_commands(directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`bundle` writes a file; `audit` of it fails for the whole register is not in it, exits with 1; junk is 2."""
    file = tmp_path / "b.tar.gz"
    assert main(["bundle", str(directory), "--output", str(file)]) == 0
    assert "UNSIGNED" in capsys.readouterr().out
    assert main(["audit", str(file), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["result"] == "FAIL"
    assert "claim P1: the evidence does not speak of it" in next(
        c["words"] for c in said["checks"] if c["name"] == "claims"
    )
    assert main(["audit", str(file)]) == 1
    assert "Merkle root" in capsys.readouterr().out
    file.write_bytes(b"junk")
    assert main(["audit", str(file)]) == 2
    assert main(["audit", str(tmp_path / "nothing")]) == 2
    assert main(["audit", str(file), "--key", str(file)]) == 2
    assert OTHER.public_key() != OURS.public_key()


def test_what_a_bundle_says_moves_no_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A commit in a bundle that would clear a terminal and write PASS is written out: a forger does not write the screen."""
    info = run().evidence.run.model_copy(update={"commit": "\x1b[2J\x1b[HPASS", "code_sha256": "0" * 64})
    forged = replace(run(), evidence=run().evidence.model_copy(update={"run": info}))
    file = tmp_path / "forged.tar.gz"
    file.write_bytes(forged.packed())
    assert main(["audit", str(file)]) == 3
    said = capsys.readouterr().out
    assert "\x1b[2J" not in said
    assert "\\u001b[2J" in said
