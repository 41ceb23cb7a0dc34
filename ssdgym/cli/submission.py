"""`ssdgym submission`: check what is sent to the leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdgym.cli import options
from ssdgym.cli.console import compile_note, console, print_json, progress_bar


def submission(
    files: Annotated[list[Path], typer.Argument(help="YAML files of submissions.", show_default=False)],
    again: Annotated[
        int, typer.Option(min=1, help="Tasks and seeds, drawn, whose runs are carried out again.")
    ] = 3,
    seed: options.Seed = 0,
    trust: options.Trust = False,
    update: Annotated[
        list[Path] | None,
        typer.Option(help="Markdown page with the marks of submissions that gets the table; repeat."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Check submissions to the leaderboard, and print a table of who has sent what.

    A submission names people, their code, a suite, a policy or an agent, and the leaderboard.json that
    ssdgym leaderboard has written for it. All tasks and seeds have to be there; of some of them, drawn, the
    policy and the suite's baseline are run again, and every number has to be the same.

    Examples:

        ssdgym submission mine.yaml

        ssdgym submission mine.yaml --again 20 --seed 7 --trust
    """
    from ssdgym.experiments.leaderboard.submission import (
        check_submission,
        submissions_table,
        write_submissions,
    )

    compile_note(quiet=as_json)
    with progress_bar("runs", quiet=as_json) as advance:
        checked = [check_submission(path, again, seed, trust=trust, advance=advance) for path in files]
    pages = [write_submissions(page, checked) for page in update or ()]
    if as_json:
        print_json(
            [
                {
                    **one.submission.model_dump(mode="json"),
                    "label": one.label,
                    "ratio": one.ratio,
                    "worst": one.worst,
                    "again": one.again,
                }
                for one in checked
            ]
        )
        return
    console(150).print(submissions_table(checked).to_rich())
    for path, one in zip(files, checked, strict=True):
        print(f"{path}: {one.again} of its runs, and those of the baseline, have the same numbers here")
    for page in pages:
        print(page)
