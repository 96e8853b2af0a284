"""What SQL writes, and when it is committed: the names of boundaries, for every driver that a hook watches.

A boundary is what makes changes durable: a COMMIT, however it comes about, or a write outside a transaction. It is named by
what the transaction wrote, `commit: INSERT jobs, UPDATE steps`: the verbs and tables of its statements, in order, each once. A
commit that wrote nothing is no boundary. A write is told by its text: what a function called by a SELECT writes is not seen.
"""

import re
from collections.abc import Iterable
from typing import Final

from .boundary import Told

_CHANGE: Final = (
    r"(?:(INSERT|REPLACE)(?:\s+OR\s+\w+)?\s+INTO|(UPDATE)(?:\s+OR\s+\w+)?(?:\s+ONLY)?|(DELETE)\s+FROM(?:\s+ONLY)?|"
    r"(MERGE)\s+INTO|(TRUNCATE)(?:\s+TABLE)?|(COPY)(?=\s+[\w.\"]+\s*(?:\([^)]*\))?\s+FROM\b)|"
    r"(CREATE|DROP|ALTER)\s+(?:OR\s+REPLACE\s+)?(?:TEMP\s+|TEMPORARY\s+|UNLOGGED\s+)?(?:UNIQUE\s+)?(?:MATERIALIZED\s+)?"
    r"(?:TABLE|INDEX|VIEW|TRIGGER|SCHEMA|SEQUENCE|FUNCTION|TYPE|EXTENSION)(?:\s+CONCURRENTLY)?(?:\s+IF\s+(?:NOT\s+)?EXISTS)?)"
    r"\s+([\w.\"`\[\]]+)"
)
_WRITE: Final = re.compile(rf"^\s*{_CHANGE}", re.IGNORECASE)
_WITH: Final = re.compile(r"^\s*WITH\b", re.IGNORECASE)
# Within WITH, what stands behind a parenthesis: `FOR UPDATE OF t` and `DO UPDATE SET` are no statements.
_PART: Final = re.compile(rf"[()]\s*{_CHANGE}", re.IGNORECASE)
_STRING: Final = re.compile(r"'(?:[^']|'')*'")
_TWO_PHASE: Final = re.compile(r"^\s*(PREPARE\s+TRANSACTION|COMMIT\s+PREPARED)\b", re.IGNORECASE)
_BEGIN: Final = re.compile(r"^\s*(?:BEGIN|START\s+TRANSACTION)\b", re.IGNORECASE)
_END: Final = re.compile(r"^\s*(?:COMMIT(?!\s+PREPARED)|END|PREPARE\s+TRANSACTION)\b", re.IGNORECASE)
_SAVEPOINT: Final = re.compile(r"^\s*SAVEPOINT\s+([^\s;]+)", re.IGNORECASE)
_RELEASE: Final = re.compile(r"^\s*RELEASE\s+(?:SAVEPOINT\s+)?([^\s;]+)", re.IGNORECASE)
_BACK: Final = re.compile(
    r"^\s*(?:ROLLBACK|ABORT)\b(?!\s+(?:(?:WORK|TRANSACTION)\s+)?(?:TO|PREPARED)\b)", re.IGNORECASE
)
_COMMENT: Final = re.compile(r"^(?:\s*(?:--[^\n]*\n|/\*.*?\*/))+", re.DOTALL)
_QUOTES: Final = str.maketrans("", "", '"`[]')
# A semicolon ends a statement, except within quotes, a dollar-quoted body or a comment.
_STATEMENT: Final = re.compile(
    r"(?:'(?:[^']|'')*'|\"[^\"]*\"|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/|[^;])+", re.DOTALL
)  # fmt: skip


def written(sql: str) -> list[str]:
    """What a statement writes, as `INSERT jobs`: of one that begins with WITH, each of its parts that writes."""
    bare = _COMMENT.sub("", sql)
    if two_phase := _TWO_PHASE.match(bare):
        return [" ".join(two_phase.group(1).upper().split())]
    if _WITH.match(bare):
        return [_named(found) for found in _PART.finditer(_STRING.sub("''", bare))]
    found = _WRITE.match(bare)
    return [_named(found)] if found is not None else []


def _named(found: re.Match[str]) -> str:
    *verbs, table = found.groups()
    return f"{next(filter(None, verbs)).upper()} {table.translate(_QUOTES).lower()}"


def name_of(writes: list[str]) -> str:
    """The name of the commit of some writes."""
    return f"commit: {', '.join(dict.fromkeys(writes))}"


def split(sql: str) -> list[str]:
    """The statements of a text that a driver sends at once."""
    return [found.group() for found in _STATEMENT.finditer(sql) if found.group().strip()]


class Watch:
    """What one connection has written since its last commit, and the boundaries that it is at.

    in_transaction: whether the statements sent so far leave a transaction open.
    """

    def __init__(self, told: Told) -> None:
        self._told = told
        self._writes: list[str] = []
        self._at: list[str] = []
        self._committing: list[str] = []
        self._outermost: str | None = None
        self.in_transaction = False

    def sent(self, statements: Iterable[str], in_transaction: bool, at_once: bool = True) -> None:
        """Statements are about to run. in_transaction: whether one is open before them. at_once: what is written outside a
        transaction is committed when they have run; else with those that follow."""
        committed: list[str] = []
        for each in statements:
            sql = _COMMENT.sub("", each)
            savepoint = _SAVEPOINT.match(sql)
            if savepoint is not None and not in_transaction:
                self._outermost, in_transaction = savepoint.group(1), True
                continue
            if _BEGIN.match(sql):
                in_transaction = True
                continue
            if _BACK.match(sql):
                self.forget()
                in_transaction = False
                continue
            self._writes += written(sql)
            if self._commits(sql):
                committed += self._writes
                self.forget()
                in_transaction = False
        if at_once and not in_transaction:
            committed += self._writes
            self.forget()
        self.in_transaction = in_transaction
        if committed:
            self._committing = committed
            self._at.append(self._told.before(name_of(committed)))

    def _commits(self, sql: str) -> bool:
        """Whether a statement ends a transaction; the release of a savepoint does where that had begun it."""
        release = _RELEASE.match(sql)
        return _END.match(sql) is not None or (release is not None and release.group(1) == self._outermost)

    def forget(self) -> None:
        """What was written so far is committed, or never will be."""
        self._writes, self._outermost = [], None

    def returned(self) -> None:
        """The driver has returned: what was at a boundary is behind it."""
        while self._at:
            self._told.after(self._at.pop(0))

    def failed(self, in_transaction: bool) -> None:
        """The driver has raised: what was at a boundary has not happened. in_transaction: whether the transaction is still
        open, as it is when a COMMIT could not have the lock; the next one commits the same."""
        if self._at and in_transaction:
            self._writes = self._committing
        self._at.clear()
