"""`ssdgym replay` and `ssdgym report`: repeat stored results, and report on them."""

from __future__ import annotations

from pathlib import Path

from ssdgym.cli.console import FAILED, note, progress_bar, show, table
from ssdgym.cli.options import Texts
from ssdgym.errors import SsdgymError, shown


def replay(
    results: Path,
    row: int | None = None,
    where: Texts = None,
    sample: int | None = None,
    workers: int | None = None,
    trust: bool = False,
) -> int:
    """Repeat the run of one stored result, or runs of a random sample, and compare every metric exactly.

    If a run does not reproduce, the command prints the differences, and the exit code is 1.

    Examples:
        ssdgym replay results/classic
        ssdgym replay results/classic --where policy=greedy,workload=zipf99,seed=100
        ssdgym replay results/classic --row 12
    """
    from ssdgym.experiments.results import find_results, read_results
    from ssdgym.experiments.runs import replay as replays

    path = find_results(results)
    stored = read_results(path)
    if not stored:
        raise SsdgymError(f"{path}: holds no results; evaluate some first")
    is_one = row is not None or bool(where)
    if is_one and sample is not None:
        raise SsdgymError("--sample draws results, and --row and --where name one: give one of the three")
    numbers = [replays.choose(stored, row, where or (), str(path))] if is_one else []
    numbers = numbers or replays.sample(stored, sample or 10, 0)
    with progress_bar("runs") as advance:
        found = replays.replay(stored, numbers, str(path), workers or 2, advance, trust=trust)
    if is_one and found[0].error is not None:
        raise found[0].error
    reproduce = sum(one.reproduces for one in found)
    data = {"file": str(path), "replayed": [one.as_dict() for one in found]}

    differences = [
        f"row {one.row}: {different.column} {shown(different.stored)}, now {shown(different.measured)}"
        for one in found
        for different in one.differences
    ]
    last = f"{reproduce} of {len(found)} results reproduce, out of {len(stored)} in {path}"
    lines = ({"row": str(one.row), **one.names, "verdict": one.verdict} for one in found)
    show(data, [table(lines), *differences, last])
    for other in dict.fromkeys(other for one in found for other in one.other_code):
        note(f"note: stored with {other.column} {other.stored}, replayed with {other.measured}")
    return FAILED if reproduce < len(found) else 0


def report(results: Path, out_file: Path | None = None, figures: Path | None = None) -> None:
    """Write an HTML report with tables, figures and the configuration.

    --out is the HTML file (default: report.html beside the results). Learned policies are highlighted.

    Examples:
        ssdgym report results/evaluate
        ssdgym report results/evaluate --figures paper/figures
    """
    from ssdgym.experiments.report.files import learned_of, write_figures, write_html_report, write_tables
    from ssdgym.experiments.report.summary import Shown
    from ssdgym.experiments.results import find_results, read_results
    from ssdgym.files import writable_folder

    file = find_results(results)
    found = read_results(file)
    path = out_file or file.with_name("report.html")
    if path.suffix != ".html":
        raise SsdgymError(f"{path}: the report is an HTML file; give --out a name that ends in .html")
    writable_folder(path.parent)
    paths = [write_html_report(found, path, results)]
    if figures is not None:
        writable_folder(figures)
        shown = Shown.of(found, learned_of(found))
        paths += [*write_tables(shown, figures), *write_figures(shown, figures)]
    files = [*map(str, paths)]
    show({"files": files}, files)
