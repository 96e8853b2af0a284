"""`crashwindow conform` refuses options that leave each other without effect."""

import pytest

from crashwindow.__main__ import main


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--workers", "1", "--case", "fail-2"], "--workers and --case"),
        (["--workers", "2", "--case", "contract-small"], "--workers and --case"),
        (["--workers", "2", "--over", "sqlite"], "--workers and --over sqlite"),
        (["--case", "fail-2", "--schedule", "worker-1:claim", "--over", "sqlite"], "--schedule and --over sqlite"),
        (["--case", "fail-2", "--schedule", "worker-1:claim", "--json"], "--schedule and --json"),
        (["--case", "fail-2", "--over", "sqlite", "--json"], "--json and --over sqlite"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, and a message that names both: nothing is enumerated under one while the other is not heard."""
    assert main(["conform", *options]) == 2
    said = capsys.readouterr()
    assert f"{named} contradict each other" in said.err
    assert not said.out
