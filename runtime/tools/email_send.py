"""`email.send`: one message to a mail server, with a Message-ID and an `X-Idempotency-Key` that follow from the external key.

| what happens                                                       | outcome   | why                                    |
| ------------------------------------------------------------------ | --------- | -------------------------------------- |
| bad arguments; no server named; no connection                      | no effect | nothing was sent                       |
| sender or recipient refused, connection broken before `DATA`       | no effect | the message was not handed over        |
| the server accepts the message                                     | ok        | it has taken responsibility (RFC 5321) |
| anything else from `DATA` on: refused, timed out, connection broken | unknown   | it may have the message                |

The server is named by `CRASHWINDOW_SMTP` (HOST:PORT), the sender by `CRASHWINDOW_MAIL_FROM`. A mail server does not honour the
key, so the tool is not idempotent: the headers are for whoever looks for the message later.
"""

import hashlib
import os
import smtplib
from email.message import EmailMessage
from email.utils import formatdate
from typing import Final, NamedTuple

from ..records import Json
from ..retry import RetryPolicy
from ..tool import NoEffectError, Tool, ToolContext, ToolResult

SERVER: Final = "CRASHWINDOW_SMTP"
SENDER: Final = "CRASHWINDOW_MAIL_FROM"
DEFAULT_SENDER: Final = "crashwindow@localhost"
TIMEOUT_SECONDS: Final = 10.0
"""How long to wait for each answer of the server."""


class Arguments(NamedTuple):
    """A validated call."""

    to: str
    subject: str
    body: str


def send(args: Json, context: ToolContext) -> ToolResult:
    """Hand one message over, and classify what came of it by the table above."""
    host, port = _server()
    message = _message(_arguments(args), context.external_key)
    try:
        server = smtplib.SMTP(host, port, timeout=TIMEOUT_SECONDS)
    except (OSError, smtplib.SMTPException) as error:
        raise NoEffectError(f"no connection to the mail server {host}:{port}: {error}") from error
    try:
        _envelope(server, message)
        code, words = server.data(message.as_bytes())
        if code != 250:
            raise smtplib.SMTPDataError(code, words)
    finally:
        server.close()
    return ToolResult(
        {"message_id": message["Message-ID"], "to": message["To"]}, external_id=str(message["Message-ID"])
    )


def _envelope(server: smtplib.SMTP, message: EmailMessage) -> None:
    """All that comes before `DATA`."""
    try:
        server.ehlo_or_helo_if_needed()
        for code, words in (server.mail(str(message["From"])), server.rcpt(str(message["To"]))):
            if code not in (250, 251):
                raise NoEffectError(f"the mail server refused: {code} {words.decode(errors='replace')}")
    except (OSError, smtplib.SMTPException) as error:
        raise NoEffectError(f"the mail server went away before the message was sent: {error}") from error


def _server() -> tuple[str, int]:
    """Host and port."""
    host, _, port = os.environ.get(SERVER, "").rpartition(":")
    if not host or not port.isdecimal():
        raise NoEffectError(f"no mail server is named: set {SERVER} to HOST:PORT")
    return host, int(port)


def _arguments(args: Json) -> Arguments:
    """Check a call's arguments; raises NoEffectError, saying what is wrong."""
    if not isinstance(args, dict) or args.keys() != set(Arguments._fields):
        raise NoEffectError(f"email.send takes exactly {', '.join(Arguments._fields)}")
    wrong = [name for name, value in args.items() if not isinstance(value, str)]
    if wrong:
        raise NoEffectError(f"{', '.join(wrong)} must be text")
    return Arguments(**args)


def _message(arguments: Arguments, key: str) -> EmailMessage:
    """The message; what must not stand in a header is refused here."""
    message = EmailMessage()
    try:
        message["From"] = os.environ.get(SENDER, DEFAULT_SENDER)
        message["To"] = arguments.to
        message["Subject"] = arguments.subject
        message["Date"] = formatdate()
        message["Message-ID"] = message_id(key)
        message["X-Idempotency-Key"] = key
        message.set_content(arguments.body)
        message.as_bytes()
    except (ValueError, UnicodeError) as error:
        raise NoEffectError(f"the message cannot be made: {error}") from error
    if len(message["To"].addresses) != 1 or message["To"].defects:
        raise NoEffectError("`to` must be one valid address: of several, some may be refused and others not")
    return message


def message_id(key: str) -> str:
    """The Message-ID under an external key: the same in every attempt, and in every job that repeats the action."""
    return f"<{hashlib.sha256(key.encode()).hexdigest()[:32]}@crashwindow.invalid>"


TOOL: Final = Tool(
    "email.send",
    send,
    'Hands one e-mail to the mail server of CRASHWINDOW_SMTP (HOST:PORT). Arguments: {"to", "subject", "body"}; one recipient.'
    " Not idempotent: a repeat is another e-mail, with the same Message-ID. Irreversible. It cannot be asked afterwards.",
    irreversible=True,
    # A refusal ends the execution: another one needs a new contract, and the consent that it asks for.
    retry=RetryPolicy(max_retries=0),
    no_compensation="a message that has been handed over cannot be called back",
)
