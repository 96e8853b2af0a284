"""A second opinion: every exported obligation is asked of cvc5, which reads the files and nothing else (E-TRUST).

An answer agrees with the one that the file states, or it does not, or there is none within the limit; only the first is a pass.
Where nothing among the questions shows that what they assume can hold, that is asked as well: a file to which somebody added
an assumption that cannot hold would else agree with everything.
"""

import hashlib
import importlib.util
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from .second_script import Question, ScriptError, questions

LIMIT: Final = 5_000_000
"""The most that one question may cost, in cvc5's resource units: forty times what the dearest one needs."""
MODULE: Final = "crashwindow.checkers.second_cvc5"
Progress = Callable[[int, Question], None]  # how many questions were answered, and the last of them


class NoSolverError(RuntimeError):
    """cvc5 is not installed: nothing was asked, and nothing is known."""


class BrokenSolverError(RuntimeError):
    """cvc5 is installed, and cannot be started."""


@dataclass(frozen=True)
class Opinion:
    """What cvc5 said to a question: "sat", "unsat", "unknown" (beyond the limit), "ended" (its process did), or "error".

    units: cvc5's resource units; words: why there is no answer; proof: of an `unsat`, if it was asked for.
    """

    question: Question
    answer: str
    units: int
    seconds: float
    words: str = ""
    proof: str = ""

    @property
    def verdict(self) -> Literal["agrees", "disagrees", "no answer"]:
        """Whether it is the answer that the file states; only "agrees" is a pass."""
        if self.answer not in ("sat", "unsat"):
            return "no answer"
        return "agrees" if self.answer == self.question.status else "disagrees"

    @property
    def sentence(self) -> str:
        """The opinion in words."""
        q = self.question
        return f"{q.file}, question {q.number} ({q.name}): stated {q.status}, cvc5: {self.words or self.answer}"


class Solver:
    """cvc5 in a process of its own, started anew when it ended over a question. broken: why that could not be done, or "".

    Raises NoSolverError without cvc5, and BrokenSolverError where the first process cannot be started. A later one that cannot
    is no exception: what was answered until then has to be heard.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        if importlib.util.find_spec("cvc5") is None:
            raise NoSolverError("cvc5 is not installed: pip install 'crashwindow[second]'")
        self.limit, self.broken = limit, ""
        self._start()

    def __enter__(self) -> "Solver":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate()

    def _start(self) -> None:
        command = [sys.executable, "-m", MODULE]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        first = self._line()
        if first is None:
            self._process.communicate()
            raise BrokenSolverError(f"cvc5 is installed and cannot be started: {' '.join(command)} says why")
        self.version = f"cvc5 {first['version']}"

    def _line(self) -> dict[str, Any] | None:
        """The next line of the process; None where it has ended, it may be within one."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        return json.loads(line) if line.endswith("\n") else None

    def _answer(self, question: Question, proof: bool) -> dict[str, Any] | None:
        """What the process says to a question; None where it has ended, over this one or before."""
        assert self._process.stdin
        request = {"script": question.script, "limit": self.limit, "proof": proof}
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        return self._line()

    def ask(self, question: Question, proof: bool = False) -> Opinion:
        """cvc5's answer; with the text of its proof, if wanted."""
        if self.broken:
            return Opinion(question, "ended", 0, 0.0, self.broken)
        started = time.perf_counter()
        said = self._answer(question, proof)
        if said is None:
            code = self._process.wait()
            self._process.communicate()
            said = {"answer": "ended", "units": 0, "proof": "", "words": f"its process ended with {code}"}
            try:
                self._start()
            except BrokenSolverError as error:
                self.broken = f"its process ended with {code}, and {error}"
        seconds = time.perf_counter() - started
        return Opinion(question, said["answer"], said["units"], seconds, said.get("words", ""), said["proof"])


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The .smt2 files that are meant by files, directories and run directories. Raises ScriptError where there is none."""
    found: list[Path] = []
    for path in paths:
        inner = path / "smt2"
        files = sorted((inner if inner.is_dir() else path).rglob("*.smt2")) if path.is_dir() else [path]
        if not files:
            raise ScriptError(f"{path}: there is no .smt2 file")
        found += files
    return found


def read(files: Iterable[Path]) -> Iterator[Question]:
    """Every question of some files. Raises OSError and ScriptError."""
    for file in files:
        yield from questions(file)


def sample(files: Sequence[Path], seed: int, each: int) -> list[Question]:
    """Some questions of every proof that state `unsat`: of each directory, and of each file that holds many. Raises as `read`.

    `recheck` adds, of each, whether what they assume can hold.
    """
    draw = random.Random(seed)
    found: list[Question] = []
    for folder in sorted({file.parent for file in files}):
        single: list[Path] = []
        for file in (file for file in files if file.parent == folder):
            text = file.read_text(encoding="utf-8")
            if text.count("(check-sat)") > 1:
                inner = [question for question in questions(file) if question.status == "unsat"]
                found += draw.sample(inner, min(each, len(inner)))
            elif ":status unsat" in text:
                single.append(file)
        found += read(draw.sample(single, min(each, len(single))))
    return found


def recheck(
    asked: Iterable[Question], solver: Solver, progress: Progress | None = None, proofs: bool = False
) -> list[Opinion]:
    """An opinion on each question, in order, and then on what nothing among them shows: that what is assumed can hold.

    The same question, word for word, is asked once. proofs: keep the text of each proof.
    """
    known: dict[bytes, Opinion] = {}
    found: list[Opinion] = []
    assumed: dict[bytes, tuple[Question, bool]] = {}

    def answer(question: Question) -> None:
        key = _key(question.commands)
        if key not in known:
            known[key] = solver.ask(question, proofs)
            opinion = known[key]
        else:
            opinion = replace(known[key], question=question, seconds=0.0)
        found.append(opinion)
        group = _key(question.assumptions)
        first, held = assumed.get(group, (question, False))
        assumed[group] = first, held or opinion.answer == "sat"
        if progress is not None:
            progress(len(found), question)

    for question in asked:
        answer(question)
    for first in [question for question, held in assumed.values() if not held]:
        answer(replace(first, name="what is assumed can hold", status="sat", commands=first.assumptions))
    return found


def _key(commands: Sequence[str]) -> bytes:
    return hashlib.sha256("\n".join(commands).encode()).digest()


def write_proofs(opinions: Iterable[Opinion], folder: Path) -> int:
    """Each proved question as NAME.smt2, with its proof, which refers to it, as NAME.cpc; how many. Raises OSError."""
    written = 0
    for opinion in opinions:
        if opinion.proof:
            question = opinion.question
            place = folder / question.file.parent.name
            place.mkdir(parents=True, exist_ok=True)
            stem = f"{question.file.stem}-{question.number:03}"
            (place / f"{stem}.smt2").write_text(f"{question.script}\n(check-sat)\n", encoding="utf-8")
            (place / f"{stem}.cpc").write_text(f'(reference "{stem}.smt2")\n{opinion.proof}', encoding="utf-8")
            written += 1
    return written
