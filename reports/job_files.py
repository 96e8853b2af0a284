"""The page of a job as a file, in the form that is asked for."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

from ..checkers.evidence_job import JobEvidence
from .job_markdown import job_markdown
from .job_page import render_job

Form = Literal["html", "md", "json"]
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


def _json(job: JobEvidence) -> str:
    return json.dumps(job.model_dump(mode="json"), indent=2, sort_keys=True, ensure_ascii=True) + "\n"


FORMS: Final[Mapping[Form, Callable[[JobEvidence], str]]] = {
    "html": render_job,
    "md": job_markdown,
    "json": _json,
}
"""By name: how a job is written."""


def file_name(job_id: str, form: Form) -> str:
    """What the file of a job is called in a directory: its id where that can be a file's name, else a digest of it."""
    name = job_id if _PLAIN_NAME.fullmatch(job_id) else hashlib.sha256(job_id.encode()).hexdigest()[:16]
    return f"job-{name}.{form}"


def write_job(job: JobEvidence, form: Form, output: str) -> Path:
    """Write a job in a form to a file, or into a directory that is there; the file. Raises OSError."""
    path = Path(output)
    file = path / file_name(job.job_id, form) if path.is_dir() or output.endswith("/") else path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(FORMS[form](job), encoding="utf-8", errors="backslashreplace", newline="\n")
    return file
