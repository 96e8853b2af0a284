"""The approval page: what waits for a person, as HTML. Everything that comes from a contract is escaped here, and only here.

It works without its script: a form posts the answer, and what was answered gets a button that continues its session.
"""

import json
import math
from html import escape as html_escape
from typing import Final

from ...model.contract import Status
from ..plain import plain
from ..records import Json
from ..resolve import moment
from .waiting import Doubt, Question, asks_for_data, done_before

_HEAD: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="/approval_page.css">
"""

WORDS: Final = {"approve": "Approved", "deny": "Denied", "data": "Answered"}


def page(questions: list[Question], doubts: list[Doubt], token: str, note: str) -> str:
    """The whole page. token: what its forms bear. note: about who executes."""
    waiting = [each for each in questions if each.answer is None]
    answered = [each for each in questions if each.answer is not None]
    title = f"({len(waiting)}) approvals" if waiting else "Approvals"
    parts = [
        _HEAD.format(title=title),
        f'<meta name="csrf-token" content="{escape(token)}">\n<script src="/approval_page.js" defer></script>\n</head>\n',
        '<body>\n<header><p class="brand">crashwindow</p><h1>Approvals</h1>',
        f'<p class="note">{escape(note)}</p>' if note else "",
        '<p id="live" role="status" aria-live="polite"></p></header>\n<main>\n',
        _section(
            "waiting",
            "Waits for an answer",
            [_question(each, token) for each in waiting],
            "Nothing waits for an answer.",
        ),
        _section("answered", "Answered, and not continued yet", [_answered(each, token) for each in answered]),
        _section("unknown", "Nobody knows whether it happened", [_doubt(each) for each in doubts]),
        "</main>\n</body>\n</html>\n",
    ]
    return "".join(parts)


def problem(message: str) -> str:
    """What is said to a person whose form was refused."""
    return (
        _HEAD.format(title="Not recorded")
        + f'</head>\n<body>\n<main><article class="card conflict"><h1>Not recorded</h1><p role="alert">{escape(message)}</p>'
        '<p><a href="/">Look again</a></p></article></main>\n</body>\n</html>\n'
    )


def escape(text: str) -> str:
    """Text from a contract, as HTML: no markup of its own, and no character that cannot be seen."""
    return html_escape(plain(text))


def _section(name: str, title: str, cards: list[str], empty: str = "") -> str:
    """Cards under a heading; a section that has neither cards nor a word about that is hidden."""
    hidden = "" if cards or empty else " hidden"
    shown = "".join(cards) or (f'<p class="empty">{escape(empty)}</p>' if empty else "")
    heading = f'<h2 id="{name}-title">{escape(title)}</h2>'
    return f'<section id="{name}"{hidden} aria-labelledby="{name}-title">{heading}{shown}</section>\n'


def _question(asked: Question, token: str) -> str:
    """One question, with the form that answers it."""
    shown = asked.form
    hidden = {
        "csrf_token": token,
        "execution_id": asked.execution_id,
        "version": shown["version"],
        "digest": shown["digest"],
    }
    fields = "".join(
        f'<input type="hidden" name="{name}" value="{escape(str(value))}">'
        for name, value in hidden.items()
        if value is not None
    )
    name = escape(asked.execution_id)
    return (
        f'<article class="card" data-id="{name}" data-key="{name}@{escape(str(shown["version"]))}"'
        f' data-session="{escape(str(shown["session_id"]))}">'
        f"<h3>{escape(str(shown['message']))}</h3>{_action(asked)}{_facts(asked)}"
        f'<form action="/ecs/respond" method="post">{fields}{_again(asked)}{_inputs(asked)}</form>'
        '<p class="outcome" role="alert"></p></article>\n'
    )


def _action(asked: Question) -> str:
    """What would be done, in full."""
    shown = asked.form
    if shown["action"] is None:
        return ""
    detail = shown["action"]
    what = escape(str(detail.get("tool", f"{detail.get('service')}.{detail.get('method')}")))
    mark = '<span class="mark">cannot be undone</span>' if shown["irreversible"] else ""
    digest = f'<p class="digest">SHA-256 of the action<code>{escape(str(shown["digest"]))}</code></p>'
    return f"<h4><code>{what}</code>{mark}</h4>{_arguments(detail)}{digest}"


def _facts(asked: Question) -> str:
    """Who asks, since when, and for what."""
    return _list(
        {
            "Session": str(asked.form["session_id"]),
            "Contract": asked.execution_id,
            "Waiting since": moment(asked.since),
            "The user's request": asked.asked_for,
        }
    )


def _again(asked: Question) -> str:
    """The earlier execution, which an approval has to name (C-ONCE)."""
    first = asked.earlier
    if first is None:
        return ""
    name = escape(first.execution_id)
    result = ""
    if first.status is Status.COMPLETED:
        kept = "(removed by retention)" if first.pruned else json.dumps(first.result, ensure_ascii=False)
        result = f", with the result {kept}"
    return (
        f'<div class="again"><p><strong>This {done_before(first)}:</strong> <code>{name}</code>, {first.status}'
        f" {escape(moment(first.updated_at))}{escape(result)}</p>"
        f'<label class="check"><input type="checkbox" name="again_of" value="{name}"> Do it once more</label></div>'
    )


def _inputs(asked: Question) -> str:
    """Name, reason, and the buttons."""
    name = '<label>Your name<input name="by" required maxlength="200" autocomplete="name"></label>'
    reason = '<label>Reason, if you deny<input name="reason" maxlength="2000" autocomplete="off"></label>'
    deny = '<button name="decision" value="deny" class="deny" formnovalidate>Deny</button>'
    if asks_for_data(asked.form):
        answer = '<label>Your answer<textarea name="data" rows="3"></textarea></label>'
        give = '<button name="decision" value="data" class="approve">Send answer</button>'
        return f'{answer}<div class="fields">{name}{reason}</div><div class="buttons">{give}{deny}</div>'
    retries = ""
    if asked.form["action"] is not None and "tool" not in asked.form["action"]:  # a plan's step has its own policy
        retries = (
            '<label class="check"><input type="checkbox" name="retries" value="true">'
            " The approval also holds for a retry, if this provably has no effect</label>"
        )
    approve = '<button name="decision" value="approve" class="approve">Approve</button>'
    return f'<div class="fields">{name}{reason}</div>{retries}<div class="buttons">{approve}{deny}</div>'


def _answered(asked: Question, token: str) -> str:
    """A question with its answer, and a button that continues the session: a crash may have come between the two."""
    given = asked.answer
    if given is None:
        raise ValueError("only an answered question has an answer")
    session, name = escape(str(asked.form["session_id"])), escape(asked.execution_id)
    return (
        f'<article class="card" data-id="{name}" data-key="{name}@{given.version}:answered" data-session="{session}">'
        f"<h3>{escape(str(asked.form['message']))}</h3>"
        f"<p>{WORDS[given.decision]} by {escape(given.by)}, {escape(moment(given.at))}</p>{_facts(asked)}"
        f'<form action="/ecs/continue" method="post"><input type="hidden" name="csrf_token" value="{escape(token)}">'
        f'<input type="hidden" name="session_id" value="{session}">'
        '<div class="buttons"><button class="approve">Continue the session</button></div></form>'
        '<p class="outcome" role="alert"></p></article>\n'
    )


def _doubt(doubted: Doubt) -> str:
    """An unknown outcome: what is asked, and how it is answered."""
    detail = doubted.doubt["action"]
    name = escape(doubted.execution_id)
    what = f"{detail.get('service')}.{detail.get('method')}"
    if doubted.final_from is None:
        final = "“It did not happen” can be said once a late request can no longer act; the command says when."
    else:
        at = moment(math.ceil(doubted.final_from))
        final = f"“It did not happen” cannot be said before {at}: until then a late request may still act."
    facts = {
        "Session": str(doubted.doubt["session_id"]),
        "Contract": doubted.execution_id,
        "Unknown since": moment(doubted.since),
    }
    ask = "Look in the system that it acts on, then say so with <code>crashwindow contract resolve</code>."
    told = f"{ask} {escape(final)}"
    if doubted.word:
        told = f"Answered: {escape(doubted.word)}; its session is to be continued."
    return (
        f'<article class="card" data-id="{name}" data-key="{name}:unknown">'
        f"<h3>Did <code>{escape(what)}</code> happen?</h3>{_arguments(detail)}{_list(facts)}"
        f"<p>{escape(str(doubted.doubt['message'] or ''))}</p><p>{told}</p></article>\n"
    )


def _arguments(detail: dict[str, Json]) -> str:
    """The arguments of an action, for people to read in full."""
    text = escape(json.dumps(detail.get("args"), indent=2, ensure_ascii=False))
    return f'<pre tabindex="0" aria-label="The arguments, in full">{text}</pre>'


def _list(facts: dict[str, str]) -> str:
    """Facts with their names; those without content are left out."""
    rows = "".join(f"<div><dt>{title}</dt><dd>{escape(text)}</dd></div>" for title, text in facts.items() if text)
    return f"<dl>{rows}</dl>"
