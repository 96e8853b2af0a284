"""What SQL writes, and when it is committed: the names of boundaries, for every driver that a hook watches.

A boundary is what makes changes durable: a COMMIT, however it comes about, or a write outside a transaction. It is named by
what the transaction wrote, `commit: INSERT jobs, UPDATE steps`: the verbs and tables of its statements, in order, each once. A
commit that wrote nothing is no boundary. A write is told by its text: what a function called by a SELECT writes is not seen, nor
is what SELECT INTO makes; a statement that is not known to read counts as a write, by its verb alone (`DO`, `CALL`), as a
boundary too many harms nobody.
"""

import re
from collections.abc import Iterable
from typing import Final

from .boundary import Told

_PART_OF_NAME: Final = r"(?:\w+|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|'[^']*')"
_NAME: Final = rf"{_PART_OF_NAME}(?:\s*\.\s*{_PART_OF_NAME})*"
_CHANGE: Final = (
    r"(?:(INSERT|REPLACE)(?:\s+OR\s+\w+)?\s+INTO|(UPDATE)(?:\s+OR\s+\w+)?(?:\s+ONLY)?|(DELETE)\s+FROM(?:\s+ONLY)?|"
    rf"(MERGE)\s+INTO|(TRUNCATE)(?:\s+TABLE)?|(COPY)(?=\s*{_NAME}\s*(?:\([^)]*\))?\s*\bFROM\b)|"
    r"(CREATE|DROP|ALTER)\s+(?:OR\s+REPLACE\s+)?(?:TEMP\s+|TEMPORARY\s+|UNLOGGED\s+)?(?:UNIQUE\s+)?(?:MATERIALIZED\s+|VIRTUAL\s+)?"
    r"(?:TABLE|INDEX|VIEW|TRIGGER|SCHEMA|SEQUENCE|FUNCTION|TYPE|EXTENSION)(?:\s+CONCURRENTLY)?(?:\s+IF\s+(?:NOT\s+)?EXISTS)?)"
    # A name within quotes may stand at once behind its verb.
    rf"(?:\s+|(?=[\"`\[']))({_NAME})"
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
_QUOTES: Final = str.maketrans("", "", "\"'`[]")
_QUOTED: Final = r"[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\"[^\"]*\"|\$(\w*)\$.*?\$\1\$"
_COMMENT: Final = r"--[^\n]*|/\*.*?\*/"
_OPAQUE: Final = re.compile(f"(?:{_QUOTED})|({_COMMENT})", re.DOTALL)
# A semicolon ends a statement, except within quotes, a dollar-quoted body or a comment.
_STATEMENT: Final = re.compile(f"(?:{_QUOTED}|{_COMMENT}|[^;])+", re.DOTALL)
_VERB: Final = re.compile(r"^\s*([a-z]+)", re.IGNORECASE)
# PRAGMA has what lasts beside what a connection asks for itself each time: the latter would be a boundary in every method.
_LASTS: Final = re.compile(r"^\s*PRAGMA\s+(?:\w+\.)?(user_version|application_id)\s*[=(]", re.IGNORECASE)
_READS: Final = re.compile(
    r"^\s*(?:ABORT|ANALYZE|ATTACH|BEGIN|CHECKPOINT|CLOSE|COMMIT|COPY|DEALLOCATE|DECLARE|DETACH|DISCARD|END|EXPLAIN|FETCH|LISTEN|"
    r"LOAD|LOCK|MOVE|NOTIFY|PRAGMA|PREPARE|RELEASE|RESET|ROLLBACK|SAVEPOINT|SELECT|SET|SHOW|START|TABLE|UNLISTEN|VACUUM|VALUES|"
    r"WITH)\b",
    re.IGNORECASE,
)
"""The verbs that write nothing, where no other pattern has found a write."""


def bare(sql: str) -> str:
    """A statement without its comments, and without the empty statements before it."""
    return _OPAQUE.sub(lambda found: " " if found.group(2) else found.group(), sql).lstrip("; \t\n\r\f")


def written(sql: str) -> list[str]:
    """What a statement without comments writes, as `INSERT jobs`: of one that begins with WITH, each of its parts that writes."""
    if two_phase := _TWO_PHASE.match(sql):
        return [" ".join(two_phase.group(1).upper().split())]
    if _WITH.match(sql):
        return [_named(found) for found in _PART.finditer(_STRING.sub(_without_parts, sql))]
    if found := _WRITE.match(sql):
        return [_named(found)]
    if lasts := _LASTS.match(sql):
        return [f"PRAGMA {lasts.group(1).lower()}"]
    verb = _VERB.match(sql)
    return [verb.group(1).upper()] if verb is not None and not _READS.match(sql) else []


def _named(found: re.Match[str]) -> str:
    *verbs, table = found.groups()
    return f"{next(filter(None, verbs)).upper()} {_plain(table)}"


def _without_parts(string: re.Match[str]) -> str:
    """A string, which may be the name of a table, without what looks like a part of a statement."""
    return "''" if re.search(r"[()]", string.group()) else string.group()


def _plain(name: str) -> str:
    return re.sub(r"\s*\.\s*", ".", name.translate(_QUOTES)).lower()


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
            sql = bare(each)
            savepoint = _SAVEPOINT.match(sql)
            if savepoint is not None and not in_transaction:
                self._outermost, in_transaction = _plain(savepoint.group(1)), True
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
        return _END.match(sql) is not None or (release is not None and _plain(release.group(1)) == self._outermost)

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
