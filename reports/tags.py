"""Building blocks of HTML: every text is escaped unless it was built here."""

from collections.abc import Iterable, Sequence
from html import escape

from .words import plain

INLINE = {"a", "abbr", "b", "code", "em", "i", "kbd", "small", "span", "strong"}


class Html(str):
    """A piece of HTML that needs no escaping any more."""

    __slots__ = ()


Part = str | None


def text(value: object) -> Html:
    """Any text, made safe."""
    return value if isinstance(value, Html) else Html(escape(plain(value)))


def join(*parts: Part) -> Html:
    """Pieces in a row; texts among them are made safe."""
    return Html("".join(text(part) for part in parts if part is not None))


def tag(name: str, *parts: Part, **attributes: str | int | bool | None) -> Html:
    """An element. `class_` stands for class, `data_key` for data-key; None and False leave an attribute out."""
    words = [name]
    for key, value in attributes.items():
        label = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(label)
        elif value is not None and value is not False:
            words.append(f'{label}="{escape(plain(value))}"')
    end = "" if name in INLINE else "\n"
    return Html(f"<{' '.join(words)}>{join(*parts)}</{name}>{end}")


def code(value: object) -> Html:
    """A name, a key or a command."""
    return tag("code", text(value))


def names(values: Iterable[str]) -> Html:
    """Identifiers in a row, none broken in the middle."""
    return Html(", ".join(tag("span", value, class_="name") for value in values))


def breakable(value: str) -> Html:
    """A long identifier that may be broken after an underscore."""
    return Html(text(value).replace("_", "_<wbr>"))


def pairs(values: Iterable[tuple[str, Part]], class_: str) -> Html:
    """Names with what they stand for."""
    return tag("dl", *(join(tag("dt", name), tag("dd", value)) for name, value in values), class_=class_)


def listing(items: list[Part], class_: str | None = None) -> Html:
    """A bulleted list."""
    return tag("ul", *(tag("li", item) for item in items), class_=class_)


def table(caption: str, heads: Sequence[Part], rows: list[Html], class_: str = "") -> Html:
    """A table in a region of its own, which scrolls where the page is too narrow. Rows come from `row`."""
    head = tag(
        "thead",
        tag("tr", *(tag("th", h, scope="col", role="columnheader") for h in heads), role="row"),
        role="rowgroup",
    )
    body = tag("tbody", *rows, role="rowgroup")
    inner = tag("table", tag("caption", caption), head, body, class_=class_ or None, role="table")
    return tag("div", inner, class_="scroll", role="region", tabindex=0, aria_label=caption)


def row(heads: list[str], cells: list[Part], class_: str | None = None, anchor: str | None = None) -> Html:
    """A row of a table: the first cell names it. Each cell knows its column, for narrow pages."""
    first = tag("th", cells[0], scope="row", role="rowheader", data_label=heads[0])
    rest = [tag("td", cell, role="cell", data_label=head) for head, cell in zip(heads[1:], cells[1:], strict=True)]
    return tag("tr", first, *rest, class_=class_, id=anchor, role="row")
