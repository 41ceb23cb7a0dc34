"""`ssdgym report`: results as one HTML file, and as figures and tables for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdgym.cli.console import print_json
from ssdgym.cli.options import AsJson
from ssdgym.errors import SsdgymError

REPORT = "report.html"


def report(
    results: Annotated[Path, typer.Argument(help="Folder that evaluate wrote, or a file of results in it.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="HTML file. Default: report.html beside the results.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Policy that the others are compared with. Default: the best.")
    ] = None,
    learned: Annotated[
        list[str] | None,
        typer.Option(help="Policy to single out as learned; repeat for more. Default: those with an agent."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            help="Folder for every figure as PNG, SVG and PDF and the tables as Markdown and LaTeX."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report that opens from disk: tables, figures, the configuration and how to repeat it.

    Examples:

        ssdgym report results/evaluate

        ssdgym report results/evaluate --out report.html --reference greedy

        ssdgym report results/evaluate --figures paper/figures
    """
    from ssdgym.experiments.report.files import write_figures, write_tables
    from ssdgym.experiments.report.html import learned_of, write_html_report
    from ssdgym.experiments.results import find_results, read_results
    from ssdgym.files import writable_folder

    file = find_results(results)
    found = read_results(file)
    path = out or file.with_name(REPORT)
    if path.suffix != ".html":
        raise SsdgymError(f"{path}: the report is an HTML file; give --out a name that ends in .html")
    writable_folder(path.parent)
    paths = [write_html_report(found, path, results, learned, reference)]
    if figures is not None:
        singled_out = learned_of(found) if learned is None else learned
        writable_folder(figures)
        paths += write_tables(found, figures, singled_out)
        paths += write_figures(found, figures, singled_out, reference)
    if as_json:
        print_json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        print(path)
