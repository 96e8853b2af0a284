"""Who is not let in hears why, whatever language the server speaks: it is judged by SQLSTATE, never by words."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest

from crashwindow.runtime import postgres_session
from crashwindow.runtime.postgres_errors import translated
from crashwindow.runtime.postgres_session import Session
from crashwindow.runtime.store import StoreError, StoreUnusableError

SSL_REQUEST = 80877103
GERMAN = "Passwort-Authentifizierung für Benutzer »ann« fehlgeschlagen"


@contextmanager
def refusing(code: str, words: str) -> Iterator[str]:
    """The address of a server that refuses every login with this SQLSTATE, in these words, and nothing else."""
    fields = {"S": "SCHWERWIEGEND", "V": "FATAL", "C": code, "M": words}
    body = b"".join(f"{kind}{text}\0".encode() for kind, text in fields.items()) + b"\0"
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(ConnectionError):  # whoever only asks for a sign of life hangs up
                while int.from_bytes(connection.recv(1024)[4:8], "big") == SSL_REQUEST:
                    connection.sendall(b"N")
                connection.sendall(b"E" + (len(body) + 4).to_bytes(4, "big") + body)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"postgresql://ann:s3cret@127.0.0.1:{listener.getsockname()[1]}/jobs"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def told(url: str) -> Exception:
    """What whoever connects is told."""
    with pytest.raises((StoreError, StoreUnusableError)) as said:
        Session(url).connect()
    assert "s3cret" not in str(said.value)
    return said.value


@pytest.mark.parametrize("words", [GERMAN, "database system, role and password authentication failed"])
@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("28P01", "check user and password"),
        ("28000", "check user and password"),
        ("3D000", "create it"),
        ("42501", "give it the rights"),
        ("53300", ""),
        ("57P03", ""),
        ("42704", ""),
    ],
)
def test_a_refused_login_is_judged_by_its_code(code: str, remedy: str, words: str) -> None:
    """No repetition mends a wrong password or database; too many connections, a start and the rest are repeated."""
    with refusing(code, words) as url:
        error = told(url)
    assert type(error) is (StoreUnusableError if remedy else StoreError)
    assert remedy in str(error)
    assert words in str(error)


def test_words_alone_say_nothing() -> None:
    """A server that uses no SQLSTATE that we know is asked again, though its words are those of a wrong password."""
    with refusing("XXXXX", 'password authentication failed for user "ann"') as url:
        assert type(told(url)) is StoreError


def test_a_server_that_is_gone_is_no_refusal() -> None:
    """Nobody listens: the store is not reached, and that passes."""
    with refusing("28P01", GERMAN) as url:
        pass
    assert "cannot connect" in str(told(url))


@pytest.mark.parametrize(
    ("code", "meaning"), [("57P01", StoreError), ("42P01", StoreUnusableError), ("22021", ValueError)]
)
def test_an_error_of_a_statement_is_judged_by_its_code(code: str, meaning: type[Exception]) -> None:
    """The same words mean what the SQLSTATE beside them says."""
    assert type(translated(psycopg.errors.lookup(code)(GERMAN), "name")) is meaning


@pytest.mark.parametrize(
    ("parameters", "remedy"),
    [
        ("sslmode=bogus", "libpq takes no such parameters"),
        ("service=nowhere", "libpq takes no such parameters"),
        ("sslmode=require", "the server offers no encryption"),
        ("sslmode=prefer", "check user and password"),
    ],
)
def test_what_libpq_refuses_itself_is_not_repeated(parameters: str, remedy: str) -> None:
    """A parameter that does not exist, or encryption that the server does not offer: no repetition mends that."""
    with refusing("28P01", GERMAN) as url:
        error = told(f"{url}?{parameters}")
    assert type(error) is StoreUnusableError
    assert remedy in str(error)


def test_a_server_that_is_gone_is_repeated_whatever_encryption_is_asked_for() -> None:
    """It has not said that it offers none."""
    with refusing("28P01", GERMAN) as url:
        pass
    assert type(told(f"{url}?sslmode=require")) is StoreError


def test_a_server_that_recovers_is_looked_into_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look into a login keeps memory for good: of many refusals in a row one is looked into, and again after a while."""
    looks = []
    monkeypatch.setattr(postgres_session, "refusal", lambda *asked: looks.append(asked))
    with refusing("57P03", "the database system is starting up") as url:
        session = Session(url)
        for _ in range(20):
            with pytest.raises(StoreError):
                session.connect()
        assert len(looks) == 1
        monkeypatch.setattr(postgres_session, "LOOK_SECONDS", 0.0)
        with pytest.raises(StoreError):
            session.connect()
        assert len(looks) == 2
