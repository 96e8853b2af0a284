"""The first screen in HTML: five questions, each answered in a few lines that lead to the rest of the page.

What is guaranteed; under which assumptions; for which code; what is not checked; how to reproduce it.
"""

from ..checkers.evidence import Verdict
from ..model.policy import HARDENED
from .answers import Answer, answers, limit
from .gaps import gaps
from .html_parts import verdict
from .tags import Html, code, join, listing, pairs, row, table, tag
from .view import View
from .words import number, plain


def banner(view: View) -> Html:
    """Whether the run came out as expected; else every problem, before anything else."""
    if view.passed:
        return tag("p", "✓ ", view.headline, class_="banner good headline")
    problems = listing(list(view.problems))
    return tag(
        "div",
        tag("p", view.headline, class_="headline"),
        problems,
        class_="banner bad",
        role="alert",
        id="problems",
    )


def first(view: View) -> Html:
    """The five answers."""
    cards = (
        ("What is guaranteed?", _guaranteed(view), "wide"),
        ("Under which assumptions?", _assumptions(view), ""),
        ("For which code?", _code(view), ""),
        ("What is not checked?", _unchecked(view), ""),
        ("How to reproduce it?", _reproduce(view), ""),
    )
    return tag("div", *(_card(n, *card) for n, card in enumerate(cards, 1)), class_="cards")


def _card(place: int, question: str, body: Html, class_: str) -> Html:
    name = f"answer-{place}"
    heading = tag("h2", question, id=name)
    return tag("section", heading, body, class_=f"card {class_}".rstrip(), aria_labelledby=name)


def _guaranteed(view: View) -> Html:
    warning = "This run did not pass: the list above comes first."
    heads = ["Question", "Answer", "By these claims"]
    rows = [_answer(heads, answer) for answer in answers(view)]
    beyond = limit(view)
    return join(
        None if view.passed else tag("p", warning, class_="warning"),
        tag(
            "p",
            "No: each claim beside it is PROVED or EXHAUSTED, of the model, under the assumptions named.",
            class_="small",
        ),
        table("The questions that everybody asks first", [*heads], rows, "stack quiet answers") if rows else None,
        tag("p", tag("strong", "What nobody can have. "), _link(beyond.claim.id), ": ", beyond.claim.sentence)
        if beyond
        else None,
        tag("p", "What the register's claims and the model came to:", class_="small"),
        listing(list(view.of_the_model), "totals"),
        tag("p", "A proof speaks of the model; that the code follows it was tested:", class_="small"),
        listing(list(view.on_the_runtime), "totals"),
        tag("p", tag("a", "Every guarantee, sentence by sentence", href="#guaranteed")),
    )


def _answer(heads: list[str], answer: Answer) -> Html:
    tone = {"No": "good", "Not shown": "none", "Yes": "bad"}[answer.said]
    said = tag("strong", answer.said, class_=f"said {tone}")
    by = [tag("span", _link(entry.claim.id), " ", verdict(entry.best), class_="name") for entry in answer.by]
    return row(heads, [answer.question, said, Html(" ".join(by))])


def _link(claim: str) -> Html:
    return tag("a", claim, href=f"#claim-{claim}")


def _assumptions(view: View) -> Html:
    """Those that the answers rest on, and how many there are in all."""
    if not view.assumptions:
        return tag("p", "The register names none.")
    asked = {name for answer in answers(view) for entry in answer.by for name in entry.claim.assumptions}
    needed = [assumption.id for assumption, _ in view.assumptions if assumption.id in asked]
    rest = len(view.assumptions) - len(needed)
    links = Html(", ".join(tag("a", name, href=f"#axiom-{name}", class_="name") for name in needed))
    more = f"; the other guarantees need {number(rest)} more. " if needed else f"{number(rest)} in all. "
    told = tag("p", "The answers need " if needed else None, links, more, "They are taken for granted, not proved.")
    return join(told, tag("p", tag("a", "What each says, and who must keep it", href="#assumptions")))


def _code(view: View) -> Html:
    run = view.evidence.run
    step = next((m for m in view.evidence.machines if m.policy == HARDENED.name), None)
    facts = [
        ("Commit", code(run.commit)),
        ("Code, SHA-256", code(run.code_sha256)),
        *([("Model, SHA-256", code(step.sha256))] if step else []),
    ]
    links = tag("a", "All models", href="#models"), " · ", tag("a", "versions and machine", href="#run")
    return join(pairs(facts, "facts"), tag("p", *links))


def _unchecked(view: View) -> Html:
    silent = [entry.claim.id for entry in view.entries if entry.best is Verdict.NOT_CHECKED]
    told = tag(
        "p",
        f"Listed: {_many(len(view.not_checked), 'sentence')} on what this run says nothing about, "
        f"{_many(len(silent), 'claim')} that nothing checked, {_many(len(gaps(view)), 'gap')} of coverage.",
    )
    return join(
        told,
        listing([plain(words) for words in view.evidence.not_checked[:2]], "gaps"),
        tag("p", tag("a", "All that is not checked", href="#not-checked"), " · ", tag("a", "all gaps", href="#gaps")),
    )


def _many(count: int, what: str) -> str:
    return f"{number(count)} {what}{'' if count == 1 else 's'}"


def _reproduce(view: View) -> Html:
    facts = [
        ("Everything", code(view.evidence.run.command)),
        ("One counterexample", code("crashwindow replay KEY")),
        ("Proofs, by cvc5", code("crashwindow recheck RUN")),
        ("The model, by TLC", code("crashwindow export tla")),
    ]
    return pairs(facts, "facts")
