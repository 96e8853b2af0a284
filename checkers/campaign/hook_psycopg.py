"""Commits of PostgreSQL, found without the runtime's help: in this process, every connection of psycopg tells of its commits.

What is watched are the places at which psycopg's own Python hands SQL to libpq and has its answer; they are the same for
connections that wait and for asynchronous ones, and whether libpq is reached through C or through Python. A pipeline sends many
statements before it has an answer: what it commits has happened when the answers to all that were sent are there.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from psycopg import AsyncCopy, Copy, pq, sql
from psycopg._connection_base import BaseConnection
from psycopg._cursor_base import BaseCursor
from psycopg._pipeline_base import BasePipeline
from psycopg.client_cursor import ClientCursorMixin

from .boundary import Told
from .statements import Watch, split

_WATCH: Final = "crashwindow_watch"
_Gen = Generator[Any, Any, Any]
_WatchOf = Callable[[Any], Watch]
_Replaced = tuple[type, str, Callable[..., Any]]


def install(told: Told) -> None:
    """Every connection of psycopg that is used from now on tells of its commits."""
    for owner, name, instead in replacements(told):
        setattr(owner, name, instead)


def replacements(told: Told) -> list[_Replaced]:
    """Which methods of psycopg's classes `install` replaces, and by what."""

    def watch_of(connection: Any) -> Watch:
        watch: Watch = vars(connection).setdefault(_WATCH, Watch(told))
        return watch

    parts = (_commands, _queries, _answers, _copies, _pipelines)
    return [replaced for part in parts for replaced in part(watch_of)]


def _send(watch: Watch, connection: Any, query: Any) -> None:
    """SQL is about to be sent."""
    if isinstance(query, sql.Composable):
        query = query.as_bytes(connection)
    text = query if isinstance(query, str) else bytes(query).decode(errors="replace")
    if connection._pipeline is not None:
        # What no transaction holds is committed with the next synchronization.
        watch.sent(split(text), watch.in_transaction, at_once=False)
        return
    status = connection.pgconn.transaction_status
    if status in (pq.TransactionStatus.IDLE, pq.TransactionStatus.INERROR):
        # Nothing is open, or all of it will be undone, by a COMMIT as well.
        watch.forget()
    watch.sent(split(text), status != pq.TransactionStatus.IDLE)


@contextmanager
def _answered(watch: Watch) -> Iterator[None]:
    """Around what waits for an answer. A COMMIT that fails ends its transaction."""
    try:
        yield
    except BaseException:
        watch.failed(in_transaction=False)
        raise
    watch.returned()


def _commands(watch_of: _WatchOf) -> Iterator[_Replaced]:
    """What psycopg sends by itself: BEGIN, COMMIT, the savepoints of nested transaction blocks."""
    shipped = BaseConnection._exec_command

    def exec_command(self: Any, command: Any, *args: Any, **kwargs: Any) -> _Gen:
        watch = watch_of(self)
        _send(watch, self, command)
        # What a pipeline has sent is answered later.
        with nullcontext() if self._pipeline is not None else _answered(watch):
            return (yield from shipped(self, command, *args, **kwargs))

    yield BaseConnection, "_exec_command", exec_command


def _queries(watch_of: _WatchOf) -> Iterator[_Replaced]:
    """What a cursor sends: a query, each row of `executemany`, a COPY."""
    send_prepared = BaseCursor._send_query_prepared

    def sending(send: Callable[..., None]) -> Callable[..., None]:
        def execute_send(self: Any, query: Any, **kwargs: Any) -> None:
            _send(watch_of(self._conn), self._conn, query.query)
            send(self, query, **kwargs)

        return execute_send

    def send_query_prepared(self: Any, name: bytes, query: Any, **kwargs: Any) -> None:
        _send(watch_of(self._conn), self._conn, query.query)
        send_prepared(self, name, query, **kwargs)

    # Cursors that put the parameters in themselves send by themselves.
    for owner in (BaseCursor, ClientCursorMixin):
        yield owner, "_execute_send", sending(owner._execute_send)
    yield BaseCursor, "_send_query_prepared", send_query_prepared


def _answers(watch_of: _WatchOf) -> Iterator[_Replaced]:
    """What a cursor waits for: the answer to a query; the last row of `stream`."""
    wait, fetch = BaseCursor._maybe_prepare_gen, BaseCursor._stream_fetchone_gen

    def maybe_prepare_gen(self: Any, query: Any, **kwargs: Any) -> _Gen:
        with nullcontext() if self._conn._pipeline is not None else _answered(watch_of(self._conn)):
            yield from wait(self, query, **kwargs)

    def stream_fetchone_gen(self: Any, first: bool) -> _Gen:
        watch = watch_of(self._conn)
        try:
            row = yield from fetch(self, first)
        except BaseException:
            watch.failed(in_transaction=False)
            raise
        if row is None:
            watch.returned()
        return row

    yield BaseCursor, "_maybe_prepare_gen", maybe_prepare_gen
    yield BaseCursor, "_stream_fetchone_gen", stream_fetchone_gen


def _copies(watch_of: _WatchOf) -> Iterator[_Replaced]:
    """COPY is over when it is finished; one that is finished with an error has written nothing."""
    finish, finish_async = Copy.finish, AsyncCopy.finish

    def end(copy: Any, error: BaseException | None) -> None:
        watch = watch_of(copy.connection)
        if error is None:
            watch.returned()
        else:
            watch.failed(in_transaction=False)

    def copy_finish(self: Any, exc: BaseException | None) -> None:
        finish(self, exc)
        end(self, exc)

    async def copy_finish_async(self: Any, exc: BaseException | None) -> None:
        await finish_async(self, exc)
        end(self, exc)

    yield Copy, "finish", copy_finish
    yield AsyncCopy, "finish", copy_finish_async


def _pipelines(watch_of: _WatchOf) -> Iterator[_Replaced]:
    """A synchronization commits what no transaction holds."""
    sync = BasePipeline._enqueue_sync

    def enqueue_sync(self: Any) -> None:
        watch = watch_of(self._conn)
        watch.sent((), watch.in_transaction)
        sync(self)

    def answers(shipped: Callable[..., _Gen]) -> Callable[..., _Gen]:
        def told(self: Any, **kwargs: Any) -> _Gen:
            watch = watch_of(self._conn)
            try:
                yield from shipped(self, **kwargs)
            except BaseException:
                watch.failed(in_transaction=False)
                if not watch.in_transaction:
                    watch.forget()
                raise
            if not self.result_queue:
                watch.returned()

        return told

    yield BasePipeline, "_enqueue_sync", enqueue_sync
    yield BasePipeline, "_communicate_gen", answers(BasePipeline._communicate_gen)
    yield BasePipeline, "_fetch_gen", answers(BasePipeline._fetch_gen)
