"""Commands of the checkers: crash a plan, run scenarios, replay a schedule."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from ..runtime.errors import CommandError
from ..scenarios.schema import Scenario, ScenarioError, load, shipped
from .evidence import Schedules


def crash(args: argparse.Namespace) -> int:
    """A user's plan, killed once at every boundary, or at one."""
    from ..runtime.plan import load_plan, validate_plan
    from ..runtime.registry import load_tools
    from ..runtime.tools import registry
    from .crash import crash_plan

    known = registry.merged(load_tools(args.tools)) if args.tools else registry
    plan = validate_plan(load_plan(Path(args.plan)), known, source=args.plan)
    console = Console(emoji=False)
    with console.status("") as status:
        try:
            campaign = crash_plan(
                plan, known.tools, args.at, progress=lambda name, done, of: status.update(f"schedule {done} of {of}")
            )
        except ValueError as error:
            raise CommandError(str(error)) from error
    table = Table("struck at", "outcome: effects", "recovery begins with", "broken", box=None)
    for record in campaign.records:
        at = ";".join(map(str, record.key.schedule)) or "nothing"
        wrong = record.error or "; ".join(record.violations)
        table.add_row(
            at, escape(record.outcome), record.first or "nothing", f"[red]{escape(wrong)}[/]" if wrong else "-"
        )
    console.print(table)
    console.print("An effect is a call of a tool that returned; of an idempotent tool, one for each external key.")
    return _summary(console, campaign.summaries)


def _summary(console: Console, summaries: Sequence[Schedules]) -> int:
    broken = 0
    for summary in summaries:
        broken += len(summary.violations) + len(summary.disagreements)
        console.print(f"{summary.schedules} schedules, {len(summary.violations)} violations", highlight=False)
    return 1 if broken else 0


def scenario(args: argparse.Namespace) -> int:
    """List, validate, run or save scenarios."""
    if args.action == "save":
        from .cli_walks import save

        return save(args)
    try:
        chosen = _chosen(args.names)
    except ScenarioError as error:
        raise CommandError(str(error)) from error
    console = Console(emoji=False)
    if args.action == "validate":
        console.print(f"{len(chosen)} scenarios are valid")
        return 0
    if args.action == "list":
        table = Table("name", "list", "expected", "policy", "title", box=None)
        for each in chosen:
            outcome = f", {each.run.outcome}" if each.run else ""
            table.add_row(each.name, each.list, escape(each.expect + outcome), each.policy, escape(each.title))
        console.print(table)
        return 0
    return _crash_everywhere(console, chosen) if args.crash_everywhere else _run(console, chosen)


def _chosen(names: Sequence[str]) -> Sequence[Scenario]:
    """Scenarios by name or file, in the order given; all that ship where nothing is given. Raises ScenarioError."""
    every = shipped()
    if not names:
        return every
    by_name = {each.name: each for each in every}
    found: list[Scenario] = []
    for name in names:
        if name in by_name:
            found.append(by_name[name])
        elif name.endswith((".yaml", ".yml")):
            found += load(Path(name))
        else:
            raise ScenarioError(
                f"there is no scenario {name!r}; `crashwindow scenario list` shows all, FILE.yaml is a file"
            )
    return found


def _run(console: Console, chosen: Sequence[Scenario]) -> int:
    from .scenario import Known, run

    known, failed = Known(), 0
    for each in chosen:
        result = run(each, known, lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True))
        failed += not result.passed
        mark = "[green]as expected[/]" if result.passed else "[bold red]not as expected[/]"
        console.print(f"{each.name}: {mark}: {escape(result.detail)}", highlight=False, soft_wrap=True)
        console.print(f"  {escape(result.command)}", style="dim", highlight=False, soft_wrap=True)
    console.print(f"{len(chosen) - failed} of {len(chosen)} scenarios as expected")
    return 1 if failed else 0


def _crash_everywhere(console: Console, chosen: Sequence[Scenario]) -> int:
    """Each scenario killed once at each of its boundaries; 1 unless each ends with one effect, or with a doubt that says so."""
    from .contract_scenario import at_the_crash, crash_everywhere

    plans = [each.name for each in chosen if not each.of_contracts()]
    if plans:
        raise CommandError(
            f"--crash-everywhere is for scenarios of execution contracts, which {', '.join(plans)} is not: use"
            " `crashwindow crash PLAN` for a plan"
        )
    failed = 0
    for each in chosen:
        table = Table(Column("struck at", no_wrap=True), "at the crash", "in the end", "effects", box=None)
        schedules, wrong = 0, []
        with console.status("") as status:
            for struck in crash_everywhere(each):
                schedules += 1
                status.update(f"{each.name}: schedule {schedules}, {struck.at}")
                ended = struck.record.outcome.partition("/")[0]
                table.add_row(struck.at, at_the_crash(struck.record), ended, str(struck.effects))
                wrong += [f"{struck.at}: {struck.problem}"] if struck.problem else []
        console.print(f"{each.name}: {each.title}", markup=False, highlight=False, soft_wrap=True)
        console.print(table)
        for line in wrong:
            console.print(line, style="bold red", markup=False, highlight=False, soft_wrap=True)
        console.print("unknown: an effect was possible and not recorded, and a person has said if it happened")
        console.print(f"{schedules} schedules, {len(wrong)} wrong", highlight=False)
        failed += len(wrong)
    return 1 if failed else 0


def replay_crash(key: str) -> int:
    """A crash schedule on the real runtime, each process and boundary as it is performed; 1 if it breaks a property."""
    from .crash import run_schedule

    console = Console(emoji=False)
    try:
        record = run_schedule(key, lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True))
    except ValueError as error:
        raise CommandError(str(error)) from error
    for problem in filter(None, (record.error, *record.violations)):
        console.print(problem, style="bold red", markup=False, highlight=False, soft_wrap=True)
    return 1 if record.error or record.violations else 0


def replay_power(key: str) -> int:
    """One power loss: what was acknowledged, what is left, how the job ends; 1 if it breaks something."""
    from .power import replay

    console = Console(emoji=False)
    try:
        verdict = replay(key, lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True))
    except ValueError as error:
        raise CommandError(str(error)) from error
    for problem in verdict.problems:
        console.print(problem, style="bold red", markup=False, highlight=False, soft_wrap=True)
    return 1 if verdict.problems else 0


def replay_interleaving(key: str) -> int:
    """A schedule of several workers, word by word, with what each changes and what may follow; 1 if it breaks a property."""
    from .interleave_replay import replay

    console, broken, follows = Console(emoji=False), False, ""
    try:
        for number, step in enumerate(replay(key)):
            follows = f"possible next: {', '.join(step.possible)}" if step.possible else "nothing is possible any more"
            line = f"{number:3}  {step.at:7.1f} s  {step.word or 'the beginning':36}{step.changed}".rstrip()
            console.print(line, markup=False, highlight=False, soft_wrap=True)
            for problem in step.problems:
                broken = True
                console.print(f"     {problem}", style="bold red", markup=False, highlight=False, soft_wrap=True)
    except ValueError as error:
        raise CommandError(str(error)) from error
    console.print(follows, markup=False, highlight=False, soft_wrap=True)
    return 1 if broken else 0
