"""The shell of a self-contained HTML page: style and script in the page itself, and a policy that allows nothing else."""

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files

from .tags import Html, join, tag


def page(title: str, body: Html, class_: str, script: bool = True, styles: Sequence[str] = ()) -> str:
    """A whole page. class_: of its body. script: whether it steps through diagrams. styles: files beside `page.css`."""
    code = asset("page.js") if script else None
    inner = join(body, Html(f"<script>{code}</script>\n") if code else None)
    style = "".join(map(asset, ("page.css", *styles)))
    whole = tag("html", _head(title, body, style, code), tag("body", inner, class_=class_), lang="en")
    return f"<!DOCTYPE html>\n{whole}"


def asset(name: str) -> str:
    """A file beside this one."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def _sources(parts: list[str]) -> str:
    """What the page's policy allows, by hash."""
    hashes = [b64encode(sha256(part.encode()).digest()).decode() for part in dict.fromkeys(parts)]
    return " ".join(f"'sha256-{each}'" for each in hashes)


def _head(title: str, body: Html, style: str, code: str | None) -> Html:
    styles = _sources([style, *re.findall(r"<style>(.*?)</style>", body, re.DOTALL)])  # a picture brings its own
    script = _sources([code]) if code else "'none'"
    policy = f"default-src 'none'; style-src {styles}; script-src {script}; base-uri 'none'; form-action 'none'"
    return join(
        Html(
            '<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        ),
        tag("title", title),
        Html(f"<style>{style}</style>\n</head>\n"),
    )
