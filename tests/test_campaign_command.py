"""A runtime in any language: a command that speaks JSON lines, as docs/adapter-protocol.md has it, is struck at its calls."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from crashwindow.checkers.campaign.adapter import Adapter, AdapterError, Belief, Job, Place, Promise, Subject, load
from crashwindow.checkers.campaign.bench import Bench, Setup
from crashwindow.checkers.campaign.boundary import Strike, When
from crashwindow.checkers.campaign.command import said_accepted
from crashwindow.checkers.campaign.run import Run
from crashwindow.checkers.evidence_outcome import Outcome
from crashwindow.scenarios.campaign import load_campaign

ROOT = Path(__file__).parent.parent
LOOP = ("sh", str(ROOT / "examples" / "adapters" / "loop.sh"))
DOCUMENT = (ROOT / "docs" / "adapter-protocol.md").read_text(encoding="utf-8")
EXAMPLES = [json.loads(text) for text in re.findall(r"```json\n(.*?)\n```", DOCUMENT, re.DOTALL)]
DESCRIBED = '{"ok": true, "promise": {"words": "w", "source": "s"}}'
ONCE = {"a": 1, "b": 1}


def job(accepted: list[bool]) -> Job:
    """A job that notes that it was accepted, and acts on no world of ours."""
    return Job("crashwindow-job", ("a", "b"), lambda step: None, lambda step: None, lambda: accepted.append(True))


def speaks(script: str, options: Mapping[str, str] | None = None) -> Adapter:
    """A command in shell that has read its request into $request, and describes itself."""
    text = f"read -r request; case $request in *describe*) echo {shlex.quote(DESCRIBED)};; *) {script};; esac"
    return load(Subject("said", command=("sh", "-c", text), options=options or {}))


@pytest.fixture(scope="module")
def loop() -> Iterator[Bench]:
    """The loop in shell; skips where this machine does not let a process trace its children."""
    with Bench(Setup(Subject("loop", command=LOOP), ("a", "b"), "calls", 0.05)) as bench:
        try:
            bench.clean()
        except Exception as error:
            if "cannot be intercepted" in str(error):
                pytest.skip(str(error))
            raise
        yield bench


# The protocol.


@pytest.mark.parametrize("do", ["prepare", "start", "recover", "belief"])
def test_requests_are_those_of_the_document(do: str, tmp_path: Path) -> None:
    """Each line that a command reads has the keys, and the kinds of values, that the document shows."""
    answer = shlex.quote('{"ok": true, "status": "absent"}')
    adapter = speaks(f'printf "%s\\n" "$request" > {tmp_path}/request; echo {answer}', {"mode": "fast"})
    place = Place(tmp_path, None, tmp_path / "world")
    if do == "prepare":
        adapter.prepare(place)
    else:
        getattr(adapter, do)(place, job([]))
    sent = json.loads((tmp_path / "request").read_text())
    (shown,) = [each for each in EXAMPLES if each.get("do") == do]
    assert sent.pop("options") == {"mode": "fast"}
    assert shown.pop("options") == {}
    assert {key: type(value) for key, value in sent.items()} == {key: type(value) for key, value in shown.items()}
    assert sent["directory"] == str(tmp_path)


def test_answers_are_those_of_the_document(tmp_path: Path) -> None:
    """What the document shows as answers is understood."""
    (described,) = [each for each in EXAMPLES if "promise" in each]
    (believed,) = [each for each in EXAMPLES if "status" in each]
    text = (
        f"read -r request; case $request in *describe*) echo {shlex.quote(json.dumps(described))};;"
        f" *start*) echo '{{\"accepted\": true}}'; echo '{{\"ok\": true}}';; *) echo {shlex.quote(json.dumps(believed))};; esac"
    )
    adapter, accepted, place = load(Subject("shown", command=("sh", "-c", text))), list[bool](), Place(tmp_path)
    adapter.start(place, job(accepted))
    assert accepted == [True]
    assert adapter.belief(place, job([])) == Belief("completed", {"a": "done", "b": "done"}, {"a": {"effect": 1}})
    assert adapter.promise == Promise(
        "each step happens at least once", "README, Guarantees", frozenset({Outcome.DUPLICATE})
    )
    assert (adapter.capabilities.takeover_seconds, adapter.versions) == (0, {"loop": "1.2"})


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('echo \'{"error": "no store"}\'', "no store"),
        ("exit 3", "ended without an answer, exit status 3"),
        ("echo fine", "answered 'fine', which is no object of JSON"),
        ("echo '[1]'", "no object of JSON"),
        ('echo \'{"ok": true, "status": "over"}\'', "status is 'over', not one of absent, running"),
        ('echo \'{"ok": true, "status": "absent", "steps": {"a": 1}}\'', "a step is one of done, not done, unknown"),
        ('echo \'{"ok": true, "status": "absent", "results": 1}\'', "results are by step"),
    ],
)
def test_an_answer_that_is_none_is_named(script: str, words: str, tmp_path: Path) -> None:
    """What a command says wrongly, or that it says nothing, is an error with its name and what was said."""
    with pytest.raises(AdapterError, match=words):
        speaks(script).belief(Place(tmp_path), job([]))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("/no/such/program",), "cannot be started"),
        (("sh", "-c", "echo '{\"ok\": true}'"), "the answer to describe: KeyError"),
        (("sh", "-c", 'echo \'{"ok": true, "promise": {"wrods": "x"}}\''), "describe: TypeError"),
        (
            ("sh", "-c", DESCRIBED.replace('"s"', '"s", "allows": ["OFTEN"]').join(("echo '", "'"))),
            "'OFTEN' is not a valid",
        ),
    ],
)
def test_a_command_that_cannot_be_used_is_named(command: tuple[str, ...], words: str) -> None:
    """One that cannot be started, or does not describe itself, is refused before anything is tried."""
    with pytest.raises(AdapterError, match=words):
        load(Subject("wrong", command=command))


def test_commits_of_a_command_are_refused() -> None:
    """A hook sees nothing of another process: the remedy is named."""
    with pytest.raises(AdapterError, match="choose `boundaries: calls`"):
        Bench(Setup(Subject("loop", command=LOOP)))


# The example.


def test_the_example_is_a_campaign() -> None:
    """Its file is valid, and names the command as from the repository."""
    file = load_campaign(ROOT / "examples" / "adapters" / "loop.yaml")
    assert file.boundaries == "calls"
    assert (ROOT / file.subjects[0].command[1]).is_file()


def test_boundaries_of_a_shell_are_found(loop: Bench) -> None:
    """Its writes, the world's lines, and the renaming that a program of its own does, in order."""
    named = [re.sub(r"rename\w*", "rename", each) for each in loop.clean().boundaries]
    assert named == [
        "call: openat job.new #1",
        "call: write job.new #1",
        "call: rename job.new to job #1",
        "call: write world #1",
        "call: write done #1",
        "call: write world #2",
        "call: write done #2",
    ]


@pytest.mark.parametrize(
    ("boundary", "when", "outcome"),
    [
        ("call: write world #1", "before", Outcome.EXACTLY_ONCE),
        ("call: write world #1", "after", Outcome.DUPLICATE),
        ("call: write done #2", "held", Outcome.DUPLICATE),
        ("call: write done #2", "after", Outcome.EXACTLY_ONCE),
        ("call: write done #1", "paused", Outcome.DUPLICATE),
        ("call: write elsewhere #1", "before", Outcome.NOT_STRUCK),
    ],
)
def test_a_shell_is_struck_at_its_calls(loop: Bench, boundary: str, when: When, outcome: Outcome) -> None:
    """Between the world's line and the record's an effect is doubled, also by a paused one that wakes; elsewhere it is not."""
    assert loop.trial((Strike(boundary, when),), 0, ONCE).outcome is outcome


HASTY = """
read -r request; cd "$(echo "$request" | sed 's/.*"directory": "\\([^"]*\\)".*/\\1/')" 2>/dev/null
case $request in
*describe*) echo DESCRIBED;;
*'"start"'*) echo '{"accepted": true}'; echo job > job; echo '{"step": "a"}' >> ../world; echo done > done; echo '{"ok": true}';;
*belief*) if [ -e done ]; then echo '{"ok": true, "status": "completed"}'; else echo '{"ok": true, "status": "absent"}'; fi;;
*) echo '{"ok": true}';;
esac
""".replace("DESCRIBED", shlex.quote(DESCRIBED))


def test_what_was_said_before_the_kill_counts(loop: Bench) -> None:
    """A runtime that says that it has the job, and is killed at its next call, has said it, although nobody lives to read it."""
    with Bench(Setup(Subject("hasty", command=("sh", "-c", HASTY)), ("a",), "calls")) as bench:
        trials = [bench.trial((Strike("call: write job #1", "before"),), number, {"a": 1}) for number in range(4)]
        assert [trial.outcome for trial in trials] == [Outcome.LOST_WORK] * 4
        with closing(Run(bench)) as run:
            assert run.call("start", Strike("call: write job #1", "before")).accepted


def test_half_a_line_is_nothing_said(tmp_path: Path) -> None:
    """What a command was killed in the middle of saying it has not said; no more has one that has answered nothing."""
    world = tmp_path / "world"
    assert not said_accepted(world)
    (tmp_path / "world.answers").write_text('[1]\n{"accepted": tr')
    assert not said_accepted(world)
    (tmp_path / "world.answers").write_text('{"accepted": true}\n{"o')
    assert said_accepted(world)
