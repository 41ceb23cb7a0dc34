"""Tables of results. A row shows a policy or, if FTLs are compared, an FTL and a policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from ssdgym.experiments.report.comparison import (
    WRITE_AMPLIFICATION,
    TaskGroup,
    advantage,
    best_heuristic,
    groups_of,
    measured,
    policies_of,
    short_names,
    summarize,
    verdict,
)
from ssdgym.experiments.report.tables import NOTHING, Entry, Table
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.spec import ftl_label, split_options

#: FTL options whose value is enough to name an FTL.
_WORDS = ("kind", "mapping")


class Ftl(NamedTuple):
    """The FTL of a result, among the FTLs on the same device and workload.

    The options `kind` and `mapping` are written as their values, such as `cgm` or `page`. If no other FTL has
    these values, other options are left out. An FTL without options of its own is `default`.

    Attributes:
        name: the options that not all FTLs share; empty if device and workload have a single FTL.
        shared: the options that all FTLs share, as text.
        own: the other options, by dotted name.
    """

    name: str
    shared: str
    own: dict[str, str]


def ftls_of(results: Sequence[Result]) -> list[Ftl]:
    """Return the FTL of each result."""
    places: dict[tuple[str, str], dict[str, None]] = {}
    for result in results:
        places.setdefault((result.device, result.workload), {})[result.ftl] = None
    ftls = {place: _named(texts) for place, texts in places.items()}
    return [ftls[result.device, result.workload][result.ftl] for result in results]


def _named(texts: Collection[str]) -> dict[str, Ftl]:
    """Return the FTLs on one device and workload by their options as text."""
    given = {text: {option.partition("=")[::2] for option in split_options(text)} for text in texts}
    shared = set.intersection(*given.values())
    own = {text: dict(sorted(options - shared)) for text, options in given.items()}
    words = {text: [of[name] for name in _WORDS if name in of] for text, of in own.items()}
    found = {}
    for text, options in own.items():
        name = words[text]
        if not name or list(words.values()).count(name) > 1:
            name = name + [f"{key}={value}" for key, value in options.items() if key not in _WORDS]
        label = " ".join(name) or "default" if len(texts) > 1 else ""
        found[text] = Ftl(label, ftl_label(tuple(shared)), options)
    return found


@dataclass(frozen=True)
class Shown:
    """Results under the names that tables and figures show.

    If there are several FTLs on a device and workload, names of policies begin with the name of the FTL,
    which replaces the name of a single policy. Options common to all FTLs remain part of the task. An FTL
    with larger logical pages than another counts a page of which the host writes a part as a whole page, so
    its write amplification is left out if it made read-modify-writes.

    Attributes:
        runs: the results as they were run.
        results: the same results in the same order, with short names of policies and FTLs.
        ftls: the FTL of each result.
        learned: short names of learned policies.
        names: by short names, the full names of policies or the options in which FTLs differ.
    """

    runs: Sequence[Result]
    results: Sequence[Result]
    ftls: Sequence[Ftl]
    learned: Sequence[str]
    names: dict[str, str]

    @classmethod
    def of(cls, runs: Sequence[Result], learned: Collection[str] = ()) -> Shown:
        """Return results as they are shown; `learned` are full names of policies."""
        ftls, policies = ftls_of(runs), policies_of(runs)
        if any(ftl.name for ftl in ftls):
            short = {policy: policy for policy in policies}
            several = (ftl for ftl in ftls if len(ftl.own) > len(ftl.name.split()))
            names = {ftl.name: ftl_label(tuple(ftl.own.items())) for ftl in several}
        else:
            short = short_names(policies)
            names = {own: policy for policy, own in short.items() if own != policy}
        finest: dict[tuple[str, str], float] = {}
        for run in runs:
            place = run.device, run.workload
            finest[place] = max(finest.get(place, 0), run.metrics.get("logical_pages", 0))
        results = []
        for run, ftl in zip(runs, ftls, strict=True):
            result = replace(run, policy=short[run.policy])
            if ftl.name:
                metrics = dict(run.metrics)
                is_coarse = metrics.get("logical_pages", 0) < finest[run.device, run.workload]
                if is_coarse and metrics.get("rmw_reads", 0) > 0:
                    metrics.pop(WRITE_AMPLIFICATION, None)
                label = ftl.name if len(policies) == 1 else f"{ftl.name}, {run.policy}"
                result = replace(result, policy=label, ftl=ftl.shared, metrics=metrics)
            results.append(result)
        pairs = zip(runs, results, strict=True)
        labels = dict.fromkeys(new.policy for old, new in pairs if old.policy in learned)
        return cls(runs, results, ftls, list(labels), names)

    @cached_property
    def groups(self) -> list[TaskGroup]:
        """The groups of comparable results."""
        return groups_of(self.results)


#: Largest share of relocated pages that may go to another stream than their own without a warning.
MUCH_OVERFLOW = 0.01


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        text: function that formats a number.
        interval: whether every kind of file shows the interval; if not, only the HTML report does.
        needs_some: whether the column is left out if all its numbers are 0.
    """

    heading: str
    metric: str
    text: Callable[[float], str]
    interval: bool = False
    needs_some: bool = False


COLUMNS = (
    Column("WA", WRITE_AMPLIFICATION, "{:.3f}".format, interval=True),
    Column("request WAF", "request_waf", "{:.3f}".format),
    Column("RMW", "rmw_share", "{:.1%}".format, needs_some=True),
    Column("moved MiB", "moved_bytes", lambda moved: f"{moved / 2**20:,.1f}"),
    Column("overflow", "overflow_share", "{:.2%}".format, needs_some=True),
    Column("erases", "erases", "{:,.0f}".format),
    Column("life (pages)", "lifetime/host_pages_written", "{:,.0f}".format),
    Column("endurance used", "lifetime/endurance_used", "{:.1%}".format),
    Column("retired blocks", "lifetime/retired_blocks", "{:,.0f}".format),
    Column("IOPS", "requests_per_s", "{:,.0f}".format),
    *(
        Column(f"{operation} {part} (µs)", f"{operation}_latency_ns/{part}", lambda ns: f"{ns / 1_000:,.0f}")
        for operation in ("read", "write")
        for part in ("mean", "p99", "p99.9")
    ),
)


def describe(seeds: int, tasks: int, where: str) -> str:
    """Return a caption that says how numbers are averaged, and `where` intervals are, such as in brackets."""
    if seeds < 2:
        what = "The value of one seed, which has no interval"
        return f"{what}, mean over {tasks} tasks." if tasks > 1 else f"{what}."
    # The interquartile mean of fewer than four numbers is their mean.
    what = f"{'interquartile mean' if seeds >= 4 else 'mean'} over {seeds} seeds"
    what = f"Mean over {tasks} tasks of the {what}" if tasks > 1 else what[0].upper() + what[1:]
    return f"{what}; {where} the 95 % interval of a bootstrap stratified by task."


def tables(shown: Shown, *, intervals: bool = False) -> list[Table]:
    """Return one table per task and, if there are several tasks, one over all tasks.

    Rows are sorted by write amplification, the smallest first; each FTL has its own rows. Every number is the
    interquartile mean over seeds, averaged over tasks. Intervals are from a bootstrap stratified by task.

    Args:
        shown: results of a grid.
        intervals: whether every number has an interval; otherwise only write amplification has one.
    """
    heading, title = "policy", "{}"
    if any(ftl.name for ftl in shown.ftls):
        policies = policies_of(shown.runs)
        heading, title = ("FTL", f"{{}}, {policies[0]}") if len(policies) == 1 else ("FTL, policy", "{}")
    groups = [group for group in shown.groups if group.results]
    return [_table(group, title.format(group.title), heading, intervals) for group in groups]


def _table(group: TaskGroup, title: str, heading: str, intervals: bool) -> Table:
    rows = []
    for policy in policies_of(group.results):
        own = [result for result in group.results if result.policy == policy]
        rows.append((Entry(policy), *(_entry(own, policy, column, intervals) for column in COLUMNS)))
    # Runs that wrote nothing come last.
    rows.sort(key=lambda row: math.inf if row[1].number is None else row[1].number)
    headings = [f"{column.heading} [95 %]" if column.interval else column.heading for column in COLUMNS]
    hidden = [
        headings[number]
        for number, column in enumerate(COLUMNS)
        if column.needs_some and not any(row[number + 1].number for row in rows)
    ]
    caption = describe(len(group.seeds), len(group.tasks), "in brackets")
    wrote = [result for result in group.results if result.metrics.get("host_pages_written")]
    if not all(result.measured(WRITE_AMPLIFICATION) for result in wrote):
        caption += " WA has a dash where an FTL counts whole pages of which the host writes parts."
    return Table(title, caption, (heading, *headings), tuple(rows)).without_gaps(hidden)


def _entry(results: Sequence[Result], policy: str, column: Column, intervals: bool) -> Entry:
    if not measured(results, column.metric):
        return NOTHING
    entry = Entry.of(*summarize(results, policy, column.metric), column.text)
    return entry if intervals or column.interval else replace(entry, note="")


def cautions(results: Sequence[Result]) -> list[str]:
    """Return warnings: which policies erased no block in a run, or overflowed more than `MUCH_OVERFLOW`."""
    worst: dict[str, float] = {}
    unerased: dict[str, None] = {}
    for result in results:
        share = result.metrics.get("overflow_share") or 0.0
        worst[result.policy] = max(worst.get(result.policy, 0.0), share)
        if result.metrics.get("host_pages_written") and result.metrics.get("erases") == 0:
            unerased[result.policy] = None
    warnings = [
        f"{policy}: up to {share:.1%} of the relocated pages went to another stream than their own, since "
        "free blocks were short: the comparison is about space; raise gc.free_blocks or over_provisioning."
        for policy, share in worst.items()
        if share > MUCH_OVERFLOW
    ]
    if unerased:
        warnings.append(
            f"{', '.join(unerased)}: at least one measured run erased no block; its write amplification says "
            "nothing about garbage collection. Write more host pages, or precondition with workload."
        )
    return warnings


def markdown_table(shown: Shown) -> str:
    """Return the tables as Markdown, each with a heading and a caption."""
    return "\n".join(line for table in tables(shown) for line in table.to_section())


def verdicts(shown: Shown) -> list[str]:
    """Return a sentence per FTL, group of tasks and learned policy: how it compares to the best heuristic."""
    of_ftl: dict[str, list[Result]] = {}
    for result, ftl in zip(shown.results, shown.ftls, strict=True):
        of_ftl.setdefault(ftl.name, []).append(result)
    return [
        f"{group.title}: {verdict(advantage(group.results, policy, best))}"
        for results in of_ftl.values()
        for group in groups_of(results)
        if measured(group.results, WRITE_AMPLIFICATION)
        if (best := best_heuristic(group.results, shown.learned)) is not None
        for policy in shown.learned
        if policy in policies_of(group.results)
    ]
