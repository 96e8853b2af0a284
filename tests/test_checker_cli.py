"""The checkers' commands, as they are typed."""

from pathlib import Path

import pytest

from crashwindow.__main__ import main
from crashwindow.model.claims import CLAIMS

from .sampled import sampled

PLAN = "version: 1\nnodes:\n  - {id: one, tool: file.append, args: {path: out.txt, text: hello}}\n"


def test_claims_lists_the_register(capsys: pytest.CaptureFixture[str]) -> None:
    """Every claim is listed; one claim is shown in full, with its source."""
    assert main(["claims"]) == 0
    out = capsys.readouterr().out
    assert all(claim.id in out for claim in CLAIMS)
    assert main(["claims", "P1"]) == 0
    assert "S1" in capsys.readouterr().out


@pytest.mark.parametrize("claim", sampled(["S4-5.2", "P11", "P1", "T-AMBIGUOUS"], 2))
def test_a_witness_can_be_asked_for(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By claim id, a run is printed that reaches what the claim speaks of."""
    assert main(["witness", claim]) == 0
    out = capsys.readouterr().out
    assert "append started" in out
    assert "no run reaches it" not in out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["claims", "P99"], "there is no claim 'P99'"),
        (["witness", "nothing"], "there is no claim 'nothing'"),
        (["replay", "nonsense"], "begins with model:, crash:, interleave:, power:, walk: or text:"),
        (["replay", "model:nobody:0"], "no key of a model run"),
        (["replay", "model:hardened:0/99"], "step 1 is '99'; possible is 0 to 2"),
        (["replay", "model:hardened:"], "the start is ''; possible is 0 to 8"),
        (["replay", "model:hardened:0/77"], "does not fit"),
        (["replay", "crash:nobody:commit:after"], "there is no case 'nobody'"),
        (["replay", "crash:ok-park:lunch:after"], "lunch"),
        (["scenario", "run", "nothing"], "there is no scenario 'nothing'"),
        (["scenario", "validate", "none.yaml"], "cannot be read"),
        (["verify", "--resume", "nowhere"], "no interrupted run is here"),
        (["verify", "--out", "plan.yaml"], "name a directory"),
        (["mutants", "--resume", "nowhere"], "no interrupted run is there"),
        (["mutants", "--resume", "."], "no interrupted run is there"),
        (["claims", "--evidence", "none.json"], "none.json: cannot be read"),
        (["claims", "--evidence", "plan.yaml"], "is not JSON"),
        (["crash", "none.yaml"], "none.yaml"),
        (["crash", "plan.yaml", "--at", "lunch"], "lunch"),
    ],
)
def test_bad_input_is_named(
    argv: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and one message that names the thing."""
    monkeypatch.chdir(tmp_path)
    Path("plan.yaml").write_text(PLAN)
    assert main(argv) == 2
    assert words in capsys.readouterr().err


def test_a_seed_that_readers_of_json_round_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """It would be signed in canonical JSON, which has no such number."""
    with pytest.raises(SystemExit, match="2"):
        main(["verify", "--seed", "9007199254740992"])
    assert "argument --seed: 9007199254740992 is beyond 9007199254740991" in capsys.readouterr().err


def test_a_counterexample_replays_on_model_and_runtime(capsys: pytest.CaptureFixture[str]) -> None:
    """By their keys: the model's run to two effects, and the same on the runtime, which exits 1 and names the property."""
    assert main(["replay", "model:s4-reexecute:0/0/0/0/0/0/0/0/0/1/2/0/0/0/0/0/0/0/0/3"]) == 0
    assert "serves again" in capsys.readouterr().out
    assert main(["replay", "crash:ok-reexecute@s4-reexecute:execute:effect"]) == 1
    out = capsys.readouterr().out
    assert "completed/2" in out
    assert "P1" in out


def test_ones_own_plan_is_crashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sweep strikes every boundary of the plan; one fault can be asked for; nothing is written where it was started."""
    monkeypatch.chdir(tmp_path)
    Path("plan.yaml").write_text(PLAN)
    assert main(["crash", "plan.yaml", "--at", "execute:effect"]) == 0
    assert "execute:effect" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["plan.yaml"]


def test_scenarios_are_listed_and_validated(capsys: pytest.CaptureFixture[str]) -> None:
    """Without names all that ship are meant."""
    assert main(["scenario", "list"]) == 0
    assert "window-3b" in capsys.readouterr().out
    assert main(["scenario", "validate"]) == 0
    assert "123 scenarios are valid" in capsys.readouterr().out
