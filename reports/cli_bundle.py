"""Commands about evidence bundles: make one, and audit one."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from .audit.outcome import CODES, Audit, Verdict
from .audit.run import Anew, Asked, audit
from .bundle.archive import MOST_OF_ALL, ArchiveError
from .bundle.contents import bundle as bundle_of
from .bundle.statement import KeyFileError, private_key, public_key
from .files import EvidenceError, newest_run
from .words import plain

STYLES: Final[dict[Verdict, str]] = {"PASS": "green", "FAIL": "bold red", "NOT DONE": "yellow"}
SHOWN: Final = 20
"""How many findings of one check a terminal shows; --json has all."""


def bundle(args: argparse.Namespace) -> int:
    """The bundle of a run, written to a file."""
    directory = Path(args.run) if args.run else _newest()
    output = Path(args.output) if args.output else directory.with_suffix(".bundle.tar.gz")
    try:
        key = private_key(Path(args.key).read_bytes()) if args.key else None
        data = bundle_of(directory, key)
        output.write_bytes(data)
    except KeyFileError as error:
        raise EvidenceError(f"{args.key}: {error}") from error
    except ArchiveError as error:
        raise EvidenceError(f"{directory}: {error}") from error
    except OSError as error:
        raise EvidenceError(f"{error.filename}: {error.strerror}") from error
    signed = "signed" if key else "UNSIGNED: give --key PRIVATE.pem"
    Console(emoji=False).print(f"{output}: {len(data)} bytes, {signed}", markup=False, highlight=False, soft_wrap=True)
    return 0


def audit_bundle(args: argparse.Namespace, regenerate: Anew) -> int:
    """A bundle, audited; the exit code says what came of it. regenerate: what this program makes anew."""
    console = Console(emoji=False)
    try:
        key = public_key(Path(args.key).read_bytes()) if args.key else None
        data = _bytes(Path(args.bundle))
        with console.status("") as status:
            asked = Asked(
                key=key,
                recheck=args.recheck,
                regenerate=regenerate if args.regenerate else None,
                progress=lambda done, of: status.update(f"cvc5: {done} of {of} questions"),
            )
            made = audit(data, asked)
    except KeyFileError as error:
        raise EvidenceError(f"{args.key}: {error}") from error
    except ArchiveError as error:
        raise EvidenceError(f"{args.bundle}: FAIL, no bundle: {error}") from error
    except OSError as error:
        raise EvidenceError(f"{error.filename}: {error.strerror}") from error
    if args.json:
        said = {"result": made.result, "merkle_root": made.root, "checks": [asdict(check) for check in made.checks]}
        print(json.dumps(said, indent=2, ensure_ascii=False))
    else:
        _show(made, console)
    return CODES[made.result]


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > MOST_OF_ALL:
        raise ArchiveError(f"it has {path.stat().st_size} bytes; a bundle may have {MOST_OF_ALL}")
    return path.read_bytes()


def _newest() -> Path:
    newest = newest_run()
    if newest is None:
        raise EvidenceError("no run is in reports/out: run `crashwindow verify`, or name a run's directory")
    return newest.parent


def _show(made: Audit, console: Console) -> None:
    for check in made.checks:
        lines = list(check.words[:SHOWN])
        if len(check.words) > SHOWN:
            lines.append(f"and {len(check.words) - SHOWN} more: --json has all")
        for number, words in enumerate(lines):
            head = f"{check.verdict:9}{check.name:12}" if not number else " " * 21
            console.print(Text.assemble((head, STYLES[check.verdict]), plain(words)), soft_wrap=True)
    console.print(f"Merkle root {made.root}", highlight=False, soft_wrap=True)
    console.print(Text(made.result, style="bold green" if made.result == "PASS" else "bold red"))
