"""The command line on PostgreSQL: each command takes the address, says what is wrong with it, and never shows the password."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers.embedded_postgres import EmbeddedPostgres

PLAN = """version: 1
nodes:
  - {id: a, tool: file.append, args: {path: PATH, text: hello}}
  - {id: w, wait: go, depends_on: [a]}
"""


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The worker command asks for signals; this process goes on afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def plan(tmp_path: Path) -> str:
    """A plan that adds a line to a file, and then waits for a signal."""
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN.replace("PATH", str(tmp_path / "lines")), encoding="utf-8")
    return str(file)


def test_a_job_goes_its_way(
    plan: str, tmp_path: Path, postgres_server: EmbeddedPostgres, postgres_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Submitted, worked on, shown, signalled, finished, verified: what is printed names the store without the password."""
    at = ("--store", postgres_url)
    assert main(("submit", plan, "--job", "j", *at)) == 0
    assert main(("worker", "--until-idle", *at)) == 0
    assert main(("jobs", *at)) == 0
    assert main(("show", "j", *at)) == 0
    assert main(("signal", "j", "go", "--by", "Ann", "--data", "1", *at)) == 0
    assert main(("worker", "--until-idle", *at)) == 0
    assert main(("effects", "j", *at)) == 0
    assert main(("verify-job", "j", *at)) == 0
    assert main(("show", "nobody", *at)) == 2
    said = capsys.readouterr()
    assert f"jobs in postgresql://crashwindow@127.0.0.1:{postgres_server.port}/postgres" in said.out
    assert "no job 'nobody' in postgresql://crashwindow@127.0.0.1" in said.err
    assert f"signal j go --store postgresql://crashwindow@127.0.0.1:{postgres_server.port}" in said.out
    assert postgres_server.password not in said.out + said.err
    assert (tmp_path / "lines").read_text(encoding="utf-8").count("hello") == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("/postgres", "/nowhere"), '"nowhere" does not exist: create it'),
        (("crashwindow:", "nobody:"), "check user and password"),
        (("127.0.0.1", "s3cret@127.0.0.1"), "percent-encoded"),
        (("postgresql:", "mysql:"), "accepted are memory: · sqlite:///relative/path"),
    ],
)
def test_a_wrong_address_is_said(
    change: tuple[str, str],
    words: str,
    postgres_server: EmbeddedPostgres,
    postgres_url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line with the remedy, exit code 2, no password."""
    before, after = change
    scheme, rest = postgres_url.split("//", 1)
    url = f"{scheme.replace(before, after)}//{rest.replace(before, after)}"
    assert main(("jobs", "--store", url)) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert postgres_server.password not in said.err
    assert "s3cret" not in said.err
