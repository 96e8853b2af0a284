"""The verifiers that ship with crashwindow (T-CONFIRM); `docs/confirmation.md` says what each confirms and what it does not."""

from .file_digest import FileDigest
from .github_issue import GitHubIssue
from .http import HttpResource
from .sql_row import SqlRow

__all__ = ["FileDigest", "GitHubIssue", "HttpResource", "SqlRow"]
