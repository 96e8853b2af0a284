"""Every branch of the protocol core is taken by an enumeration case, beside the model; what none can take is stated, with why.

A turn is a function of the answers that it was given. So each one that the enumeration has held against the model is run again
under `coverage`, as far as it was led; a branch is named by its two source lines.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import coverage
import pytest

from crashwindow.checkers.enumerate import Product
from crashwindow.checkers.enumerate_stage import product
from crashwindow.runtime import protocol

CORE: Final = ("protocol", "compensation", "confirm", "gate", "inputs", "llm_step", "job")
RUNTIME: Final = Path(protocol.__file__).parent
CASES: Final = (
    "behind", "queried-all", "doubted", "before-llm", "after-llm", "approved", "gate-approval", "gate-signal", "half-undone",
    "half-undone-unsure", "after-told", "for-good", "pauses", "rests", "inputs", "inputs-lost", "strays", "reexecute-1",
    "told-for-good", "retold", "owed", "owed-fails", "refused", "query-quiet-1", "warned", "modes", "after-tool", "both-undone",
    "abandoned", "fail-2",
)  # fmt: skip
"""Enough of them: each is small but the last ones."""
DEFENCE: Final = "defence in depth: what stands before it never lets it come to that"
LONGER: Final = "`tests/test_settling.py` takes it, whose plans have more nodes than these cases"
EXCEPTIONS: Final[dict[str, str]] = {
    "compensation: if declared is None: → raise ValueError(f\"tool {tool.name!r} declares no compensation\")":
        f"{DEFENCE}: `check_undoable` refuses the request",
    "compensation: if step.past.node != StepResult.COMPENSATED: → return None":
        f"{DEFENCE}: a step that is compensated is over, and `recover` says so first",
    "confirm: case \"strict\": → return": "the match is total: there is no fourth mode",
    "confirm: if wait > LONGEST_PAUSE: → break": "no verifier of these cases says when it can be asked again",
    "gate: if self.past.committed is not None: → return None":
        f"{DEFENCE}: the answer's batch has its `command_committed`",
    "inputs: if threading.get_ident() != self.thread: → raise RuntimeError(f\"{name}: inputs are asked for during the tool's"
    " call, in the thread of the call\")": "no tool of these cases asks from another thread: that is refused at once",
    "job: if \"undoes\" in entry: → step: Step = ElsewhereStep(run, entry)":
        "the job that undoes a step of another one (`request_compensation`) is in no case",
    "job: if not results.keys() >= {*asked_for(entry)}: → break": LONGER,
    "job: elif \"llm\" in entry: → if entry[\"id\"] not in history.touched:": LONGER,
    "llm_step: if not self.past.checkpointed: → self.run.results[self.id] = answer.response": LONGER,
    "protocol: if self.stored is not None: → return": "the same job, where the step's effect is not known",
    "protocol: elif past.retry_at: → return True": f"{DEFENCE}: a retry on record has the time of its event",
    "protocol: if held.committed and \"ledger\" in self.policy.evidence: → self.memory = Stored(held.result, held.external_id)":
        f"{DEFENCE}: a committed record is found by `recover`, and the ledger is fenced by then",
    "protocol: if self.policy.external_key == \"stable\": → external = attempt_key(self.job_id, self.node.id, self.epoch)":
        "a policy that is not shipped",
    "protocol: if stored is not None: → self.memory = stored": "a policy that is not shipped: the barrier before the evidence",
}  # fmt: skip
"""The branches that no case takes, and why."""


def untaken(names: tuple[str, ...], folder: Path) -> set[str]:
    """The branches of the core that none of these cases takes: `MODULE: LINE → LINE`; a module, where none comes into it."""
    measured = coverage.Coverage(branch=True, include=["*/runtime/*.py"], data_file=None)
    for name in names:
        enumerated = product(name)
        enumerated.run()
        measured.start()
        try:
            again(enumerated)
        finally:
            measured.stop()
    measured.json_report(outfile=str(folder / "branches.json"))
    told = json.loads((folder / "branches.json").read_text(encoding="utf-8"))
    entered = {Path(path).stem for path in told["files"]}
    branches = {line for path, found in told["files"].items() for line in named(Path(path), found["missing_branches"])}
    return branches | (set(CORE) - entered)


def again(enumerated: Product) -> None:
    """Run every turn that was reached once more, each as far as some word has led it."""
    turns, reached = enumerated.floor.turns, enumerated.reader.turns - {-1}
    passed = {turns[number].before for number in reached}
    for number in reached - passed:
        turns.repeat(number)


def named(path: Path, branches: list[list[int]]) -> Iterator[str]:
    """Some branches of a module of the core, in words."""
    if path.stem in CORE and path.parent.name == "runtime":
        source = (RUNTIME / path.name).read_text(encoding="utf-8").splitlines()
        for begin, end in branches:
            yield f"{path.stem}: {source[begin - 1].strip()} → {source[end - 1].strip() if end > 0 else 'return'}"


@pytest.mark.deep
def test_every_branch_of_the_core_is_taken(tmp_path: Path) -> None:
    """Beside the model, by some case; the others are exactly those that are stated, so a new branch needs a case or a reason."""
    assert untaken(CASES, tmp_path) == set(EXCEPTIONS)


@pytest.mark.deep
def test_a_case_less_leaves_branches(tmp_path: Path) -> None:
    """The measure has teeth: branches that a case does not take are missing, and so is a module that it never comes into."""
    left = untaken(("for-good",), tmp_path)
    assert any(line.startswith("protocol: ") for line in left)
    assert left >= {"compensation", "llm_step"}
