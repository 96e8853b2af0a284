"""Commands about reports: every form again from old evidence, what changed between two runs, the schema, a job's summary."""

import argparse
import json
import os
from pathlib import Path

from rich.console import Console

from .crash_matrix_files import load_matrices
from .diff import changes_data, changes_text, diff, got_worse
from .files import EVIDENCE, EvidenceError, load, schema_text, write
from .job_summary import render_summary
from .view import judge


def report_render(args: argparse.Namespace) -> int:
    """Every form of a run, judged anew by the register of this version; 1 where the run did not pass."""
    source = Path(args.run)
    evidence = load(source)
    more = [matrix for each in args.campaign or () for matrix in load_matrices(Path(each))]
    evidence = evidence.model_copy(update={"campaigns": [*evidence.campaigns, *more]})
    if not args.output and not source.is_dir() and source.name != EVIDENCE:
        raise EvidenceError(f"{source}: is not called {EVIDENCE}: give --output DIR, where the forms are written.")
    directory = Path(args.output) if args.output else source if source.is_dir() else source.parent
    try:
        files = write(evidence, directory)
    except OSError as error:
        raise EvidenceError(f"{directory}: {error.strerror}: name a directory that can be written.") from error
    for file in files.values():
        print(file)
    view = judge(evidence)
    print(view.headline)
    return 0 if view.passed else 1


def report_diff(args: argparse.Namespace) -> int:
    """What changed from the first run to the second; 1 where anything got worse."""
    changes = diff(load(Path(args.before)), load(Path(args.after)))
    if args.json:
        print(json.dumps(changes_data(changes), indent=2, ensure_ascii=False))
    else:
        Console(emoji=False).print(changes_text(changes), soft_wrap=True)
    return 1 if got_worse(changes) else 0


def report_schema(_: argparse.Namespace) -> int:
    """The JSON Schema of evidence."""
    print(schema_text(), end="")
    return 0


def report_summary(args: argparse.Namespace) -> int:
    """The summary of a job: appended to the file that GitHub names in GITHUB_STEP_SUMMARY, else printed."""
    text = render_summary(load(Path(args.run)))
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        print(text, end="")
        return 0
    try:
        with Path(file).open("a", encoding="utf-8") as summary:
            summary.write(text)
    except OSError as error:
        raise EvidenceError(
            f"GITHUB_STEP_SUMMARY={file}: {error.strerror}: name a file that can be written."
        ) from error
    return 0
