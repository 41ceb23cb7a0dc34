"""``ssdgym doctor``: is this machine fit to run ssdgym?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ssdgym.cli.console import console, print_json
from ssdgym.cli.options import AsJson

if TYPE_CHECKING:
    from ssdgym.cli.checks import Finding

_SIGNS = {"ok": "[green]ok[/]", "note": "[yellow]note[/]", "failed": "[bold red]failed[/]"}


def doctor(as_json: AsJson = False) -> None:
    """Check versions, the compiler and its cache, memory, cores, traces and environments.

    Exits with 1 if a check failed; notes are harmless.

    Examples:

        ssdgym doctor

        ssdgym doctor --json
    """
    from ssdgym.cli.checks import check_all

    findings = check_all()
    if as_json:
        print_json([vars(finding) for finding in findings])
    else:
        _print_table(findings)
    if any(finding.status == "failed" for finding in findings):
        raise typer.Exit(1)


def _print_table(findings: list[Finding]) -> None:
    from rich import box
    from rich.table import Table

    table = Table("check", "", "what was found", box=box.SIMPLE_HEAD)
    for finding in findings:
        table.add_row(finding.check, _SIGNS[finding.status], finding.message)
    console().print(table)
