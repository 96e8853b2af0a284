"""Evidence and reports as files: what a run writes, and evidence read back and judged again."""

import json
from pathlib import Path

from pydantic import ValidationError

from ..checkers.evidence import SCHEMA_VERSION, RunEvidence
from .assurance_forms import assurance_gsn
from .audit.strict_json import JsonError, strict_json
from .badge import render_badge, render_endpoint
from .html import render_html
from .job_summary import render_summary
from .junit import render_run_junit
from .markdown import render_markdown
from .sarif import render_run_sarif
from .view import REGISTER, Register, judge

EVIDENCE = "evidence.json"
SCHEMA = "evidence.schema.json"


class EvidenceError(ValueError):
    """A file that is not evidence: the message names the file, the reason and the remedy."""


def _json(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def schema_text() -> str:
    """The JSON Schema of evidence, as it is published."""
    return _json(RunEvidence.model_json_schema())


def forms(evidence: RunEvidence, register: Register = REGISTER) -> dict[str, str]:
    """Every form of a run's evidence by the name of its file: the evidence, its schema and the reports, and nothing else.

    They are made of what the evidence's file says, so that whoever reads it makes the same: no order of a search is in them.
    """
    text = _json(evidence.model_dump(mode="json"))
    evidence = RunEvidence.model_validate_json(text)
    return {
        EVIDENCE: text,
        SCHEMA: schema_text(),
        "report.html": render_html(evidence, register),
        "report.md": render_markdown(evidence, register),
        "report.gsn.yaml": assurance_gsn(judge(evidence, register)),
        "report.junit.xml": render_run_junit(evidence, register),
        "report.sarif": render_run_sarif(evidence, register),
        "summary.md": render_summary(evidence, register),
        "badge.svg": render_badge(evidence, register),
        "badge.json": render_endpoint(evidence, register),
    }


def write(evidence: RunEvidence, directory: Path, register: Register = REGISTER) -> dict[str, Path]:
    """Write evidence, its schema and the reports into a directory; answers name to path."""
    directory.mkdir(parents=True, exist_ok=True)
    texts = forms(evidence, register)
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8", newline="\n")
    return {name: directory / name for name in texts}


def newest_run() -> Path | None:
    """The evidence of the newest run in `reports/out` of the working directory; None where there is none."""
    return max(Path("reports", "out").glob(f"*/{EVIDENCE}"), default=None)


def load(path: Path) -> RunEvidence:
    """Evidence from a file, or from `evidence.json` in a directory. Raises `EvidenceError`."""
    file = path / EVIDENCE if path.is_dir() else path
    try:
        text = file.read_bytes()
        content = strict_json(text)
    except OSError as error:
        raise EvidenceError(f"{file}: cannot be read: {error.strerror}. Name the {EVIDENCE} of a run.") from error
    except JsonError as error:
        raise EvidenceError(
            f"{file}: is not JSON as evidence is written: {error}. Name the {EVIDENCE} of a run."
        ) from error
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version is None:
        raise EvidenceError(f"{file}: is not evidence: it has no schema_version. Name the {EVIDENCE} of a run.")
    if version != SCHEMA_VERSION:
        raise EvidenceError(
            f"{file}: has schema_version {version!r}, this program reads {SCHEMA_VERSION}. "
            "Use the crashwindow that wrote it, or run `crashwindow verify` again."
        )
    try:
        return RunEvidence.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:200] or "the top"
        raise EvidenceError(
            f"{file}: is not evidence of schema {SCHEMA_VERSION}: {error.error_count()} errors, first at {where}: "
            f"{first['msg']}. Run `crashwindow verify` again."
        ) from error
