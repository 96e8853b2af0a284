"""The contents of the SQLite contract store, each as the bytes of its database: the second store that an enumeration goes over.

A content is put back by `deserialize`, so the shipped statements, the schema's own constraints and the transactions are at work.
The records of the steps stay in memory: they have an enumeration of their own.
"""

from pathlib import Path
from typing import Any, Final, cast

from ..runtime.contracts.sqlite_contracts import SqliteContractStore
from ..runtime.contracts.store import ContractStore
from ..runtime.sqlite_store import SqliteStore
from .contract_abstraction import StoredContracts, select_contracts
from .contract_terms import Terms, every_terms
from .contract_words import Standing, standing
from .enumerate_contract_case import AFTERWARDS
from .enumerate_contract_view import Moved

READ: Final = (
    "SELECT execution_id,status,version,consent,consent_used,result,error_message,again_of,needs_consent,action_digest,"
    "reopened_at IS NOT NULL,(SELECT trigger||' '||actor FROM contract_transitions AS t WHERE t.execution_id=c.execution_id"
    " ORDER BY position DESC LIMIT 1) FROM contracts AS c ORDER BY seq",
    "SELECT * FROM contract_answers ORDER BY execution_id,version",
    "SELECT state FROM graph_checkpoints GROUP BY session_id HAVING version=max(version) ORDER BY min(seq)",
    "SELECT id FROM contract_writes WHERE id GLOB 'r[0-9]*' ORDER BY id",
)
"""All that something reads, as `MemoryShelf` has it."""
MOVES: Final = (
    "SELECT execution_id,substr(action,instr(action,execution_id)+length(execution_id)+1),json_extract(metadata,'$.trigger'),"
    "json_extract(metadata,'$.actor') FROM execution_trace WHERE seq>? AND action LIKE 'transition:%' ORDER BY seq"
)
NO_LOG: Final = slice(18, 20)
"""Where the header of a database says that there is a write-ahead log: one in memory has none."""
SCHEMA: Final = slice(40, 44)
"""Where it numbers its schema: with another number there, statements prepared over another content are prepared anew."""


class SqliteShelf:
    """See `enumerate_contract_bench.Shelf`. folder: for the file with which it begins. exact: no two contents are one, and no id
    of a batch is forgotten.
    """

    def __init__(self, folder: Path, exact: bool = False) -> None:
        self._exact = exact
        self._store = SqliteStore(folder / "contracts.db", lambda: AFTERWARDS)
        self.store = cast("ContractStore", SqliteContractStore(self._store))
        self._contents: list[bytes] = []
        self._numbers: dict[Any, int] = {}
        self._at, self._changes, self._traced = -1, -1, 0
        self._puts = 1_000

    def put(self, number: int) -> None:
        """See Shelf.put."""
        with self._store.session as connection:
            self._puts += 1
            connection.deserialize(_of_schema(self._contents[number], self._puts))
            self._at, self._changes = number, connection.total_changes
            (self._traced,) = connection.execute("SELECT ifnull(max(seq),0) FROM execution_trace").fetchone()

    def number(self, forget: str) -> tuple[int, tuple[Moved, ...]]:
        """See Shelf.number."""
        forget = "" if self._exact else forget
        with self._store.session as connection:
            if connection.total_changes == self._changes and not forget:
                return self._at, ()
            if forget:
                connection.execute("DELETE FROM contract_writes WHERE substr(id,1,?)=?", (len(forget), forget))
            content = _of_schema(_without_log(connection.serialize()), 0) if self._exact else b""
            key = content or tuple(tuple(connection.execute(query)) for query in READ)
            rows = connection.execute(MOVES, (self._traced,))
            moves = tuple(Moved(name, path.partition("→")[0], *by) for name, path, *by in rows)
            if key not in self._numbers:
                self._numbers[key] = len(self._contents)
                self._contents.append(_without_log(connection.serialize()))
            return self._numbers[key], moves

    def stored(self, number: int) -> StoredContracts:
        """See Shelf.stored."""
        self.put(number)
        with self._store.session as connection:
            return select_contracts(connection)

    def standing(self, number: int, name: str) -> Standing:
        """See Shelf.standing."""
        self.put(number)
        with self._store.session as connection:
            return standing(connection, name, "")

    def terms(self, number: int) -> dict[str, Terms]:
        """See Shelf.terms."""
        self.put(number)
        with self._store.session as connection:
            return every_terms(connection)

    def close(self) -> None:
        """Close the database."""
        self._store.close()


def _without_log(content: bytes) -> bytes:
    """The same database, without a write-ahead log."""
    changed = bytearray(content)
    changed[NO_LOG] = b"\1\1"
    return bytes(changed)


def _of_schema(content: bytes, number: int) -> bytes:
    """The same database, its schema under another number."""
    changed = bytearray(content)
    changed[SCHEMA] = number.to_bytes(4, "big")
    return bytes(changed)
