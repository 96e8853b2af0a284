"""Runs one command, and is the composition root: the only module that knows every room."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from .commands.table import parser
from .runtime.errors import CommandError
from .runtime.plain import escape_what_cannot_be_written

if TYPE_CHECKING:
    from .model.claims import Claim

BAD_INPUT, INTERRUPTED = 2, 130


def known_errors() -> tuple[type[Exception], ...]:
    """The errors that tell the user what to do; any other one is a defect of ours, and shows its traceback."""
    from .model.contract import InvalidTransitionError
    from .reports.files import EvidenceError
    from .reports.register import RegisterError
    from .runtime import clients, plan, registry, resolve, store
    from .runtime.contracts.store import ContractError

    return (
        CommandError,
        ContractError,
        clients.ClientError,
        EvidenceError,
        InvalidTransitionError,
        RegisterError,
        plan.PlanError,
        registry.DuplicateToolError,
        registry.ToolSourceError,
        resolve.ResolveError,
        store.JobExistsError,
        store.StoreError,
        store.StoreUnusableError,
    )


def verify(args: argparse.Namespace) -> int:
    """The main job, with its progress on the screen."""
    from rich.console import Console
    from rich.markup import escape

    from .checkers.collector import collect_seldom
    from .checkers.evidence import RunEvidence
    from .checkers.stages import STAGES
    from .checkers.verify import Context, new_run
    from .checkers.verify import verify as stages
    from .reports.files import write
    from .reports.terminal import summary_table
    from .reports.view import judge
    from .scenarios.profile import command as command_of

    collect_seldom()
    console = Console(emoji=False)
    try:
        directory = Path(args.resume) if args.resume else new_run(Path(args.out))
    except OSError as error:
        raise CommandError(f"--out {args.out}: {error.strerror}: name a directory that can be written") from error
    if args.resume and not (directory / "stages").is_dir():
        raise CommandError(f"{directory}: no interrupted run is here; give the directory that the run has printed")
    command = command_of(args.profile, args.seed)
    console.print(f"{command}\nevidence in {directory}", highlight=False, soft_wrap=True)
    evidence: RunEvidence | None = None
    with console.status("") as status:
        context = Context(args.profile, args.seed, directory, lambda words: status.update(escape(words)))
        for result in stages(context, STAGES, command):
            if isinstance(result, RunEvidence):
                evidence = result
            else:
                stage, found, seconds = result
                took = "    kept" if seconds is None else f"{seconds:6.1f} s"
                line = f"  {took}  {stage.title}: {found.summary()}"
                console.print(line, markup=False, highlight=False, soft_wrap=True)
    if evidence is None:
        raise RuntimeError("the run ended without evidence")
    files = write(evidence, directory)
    console.print(summary_table(evidence))
    console.print(f"report: {files['report.html']}", highlight=False, soft_wrap=True)
    return 0 if judge(evidence).passed else 1


def audit(args: argparse.Namespace) -> int:
    """An audit; questions are written down and sentences tried anew here, for an audit itself may know no checker."""
    from .checkers.obligation_files import obligation_files
    from .checkers.seed_text import every_sentence
    from .reports.audit.run import Anew
    from .reports.cli_bundle import audit_bundle

    return audit_bundle(args, Anew(obligation_files, every_sentence))


def report_job(args: argparse.Namespace) -> int:
    """The page of a job as a file, and its first sentence on the screen; the exit code is that of `verify-job`."""
    from .checkers.job_evidence import job_evidence
    from .reports.job_files import write_job
    from .reports.job_words import summary
    from .runtime.cli_common import no_such_job, opened
    from .runtime.cli_logs import COMPLETED, NOT_FINISHED, VIOLATED

    with opened(args.store, existing=True) as store:
        try:
            job = job_evidence(store, args.job, args.store)
        except KeyError:
            raise no_such_job(args.job, args.store) from None
    try:
        file = write_job(job, args.format, args.output)
    except OSError as error:
        raise CommandError(
            f"--output {args.output}: {error.strerror}: name a file or a directory that can be written"
        ) from error
    print(f"{summary(job).headline}\n{file}")
    if job.verdict.violated:
        return VIOLATED
    return COMPLETED if job.verdict.verifiable else NOT_FINISHED


def campaign_run(args: argparse.Namespace) -> int:
    """A campaign against runtimes of others, and its matrices in every form."""
    from rich.console import Console

    from .checkers.cli_foreign import campaign_directory, chosen, judged
    from .reports.crash_matrix_files import matrix_table, write_matrices

    console = Console(emoji=False)
    file = chosen(args)
    directory = campaign_directory(args)
    matrices, unexpected = [], list[str]()
    for each in judged(args, file, console, directory):
        matrices.append(each.matrix)
        unexpected += each.unexpected
        console.print(matrix_table(each.matrix), crop=False)
    files = write_matrices(file.title, matrices, directory)
    console.print(f"report: {files['matrix.html']}", highlight=False, soft_wrap=True)
    for words in unexpected:
        console.print(words, style="bold red", highlight=False, soft_wrap=True)
    return 1 if unexpected else 0


def campaign_show(args: argparse.Namespace) -> int:
    """The matrices of a campaign, as its directory holds them."""
    from rich.console import Console

    from .reports.crash_matrix_files import load_matrices, matrix_table

    console = Console(emoji=False)
    for matrix in load_matrices(Path(args.matrix)):
        console.print(matrix_table(matrix), crop=False)
    return 0


def witness(args: argparse.Namespace) -> int:
    """Runs that reach the antecedents of a claim: the claim speaks of something."""
    from rich.console import Console

    from .checkers.search import witnesses
    from .reports.terminal import trace_table

    console = Console(emoji=False)
    for words, trace in witnesses(known_claim(args.claim)):
        console.print(f"{args.claim}: {words}", style="bold", highlight=False)
        console.print(trace_table(trace) if trace else "no run reaches it")
    return 0


def replay(args: argparse.Namespace) -> int:
    """A run of the model, or a crash schedule on the runtime, step by step."""
    from rich.console import Console

    from .checkers import traces
    from .reports.terminal import trace_table

    if args.key.startswith("crash:"):
        from .checkers.cli import replay_crash

        return replay_crash(args.key)
    if args.key.startswith("interleave:"):
        from .checkers.cli import replay_interleaving

        return replay_interleaving(args.key)
    if args.key.startswith("power:"):
        from .checkers.cli import replay_power

        return replay_power(args.key)
    if args.key.startswith("walk:"):
        from .checkers.cli_walks import replay_walk

        return replay_walk(args.key)
    if args.key.startswith("text:"):
        return replay_sentence(args.key)
    if not args.key.startswith("model:"):
        raise CommandError(
            f"{args.key!r} is no replay key: one begins with model:, crash:, interleave:, power:, walk: or text:, and is"
            " printed beside what it replays; see `crashwindow replay --help`"
        )
    try:
        Console(emoji=False).print(trace_table(traces.replay(args.key)))
    except ValueError as error:
        raise CommandError(str(error)) from error
    return 0


def replay_sentence(key: str) -> int:
    """A sentence of the seeds, tried anew, with the run where that contradicts it; 1 unless it comes out as registered."""
    from rich.console import Console

    from .checkers import seed_text
    from .model.claims import CLAIM_BY_ID
    from .reports.terminal import trace_table

    try:
        item = seed_text.replay(key)
    except ValueError as error:
        raise CommandError(str(error)) from error
    claim = CLAIM_BY_ID[key.partition(":")[2]]
    console = Console(emoji=False)
    if item.trace:
        console.print(trace_table(item.trace))
    words = f"{claim.id}: {claim.sentence}\n{item.verdict}: {item.statement}"
    console.print(words, markup=False, highlight=False, soft_wrap=True)
    return 0 if (item.verdict == "REFUTED") is (claim.expected == "REFUTED") else 1


def known_claim(name: str) -> "Claim":
    """The claim with this id; an error that names those near it otherwise."""
    from .model.claims import CLAIM_BY_ID, no_such_claim

    if name not in CLAIM_BY_ID:
        raise CommandError(no_such_claim(name))
    return CLAIM_BY_ID[name]


def _is_text(argument: str) -> bool:
    """Whether the bytes of an argument were text: Python hands others over as lone surrogates, which nothing can store."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    escape_what_cannot_be_written()
    argv = sys.argv[1:] if argv is None else argv
    if torn := next((text for text in argv if not _is_text(text)), None):
        print(f"crashwindow: the argument {torn!a} is not UTF-8 text; write it anew", file=sys.stderr)
        return BAD_INPUT
    args = parser(argv).parse_args(argv)
    try:
        function = (
            getattr(import_module(args.module, __package__), args.function) if args.module else globals()[args.function]
        )
        code: int = function(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except Exception as error:
        if not isinstance(error, known_errors()):
            raise
        print(f"crashwindow: {error}", file=sys.stderr)
        return BAD_INPUT
    return code


if __name__ == "__main__":
    sys.exit(main())
