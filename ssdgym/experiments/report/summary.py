"""Tables of results. A row shows a policy or, if FTLs are compared, an FTL and a policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

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

#: A device and a workload.
Place = tuple[str, str]


def side_by_side(results: Sequence[Result], learned: Collection[str] = ()) -> tuple[list[Result], list[str]]:
    """Return results with short names of policies and FTLs, and the short names of learned policies.

    If there are several FTLs on a device and workload, names of policies begin with the name of the FTL,
    which replaces the name of a single policy. Options common to all FTLs remain part of the task. An FTL
    with larger logical pages than another counts a page of which the host writes a part as a whole page, so
    its write amplification is left out if it made read-modify-writes.
    """
    shared, finest = _shared(results), dict[Place, float]()
    for result in results:
        finest[_place(result)] = max(finest.get(_place(result), 0), _logical_pages(result))
    is_single = len({result.policy for result in results}) == 1
    shown, ftls = [], ftl_names(results)
    short = {} if any(ftls) else short_names(policies_of(results))
    for result, name in zip(results, ftls, strict=True):
        result = replace(result, policy=short.get(result.policy, result.policy))
        if name:
            metrics = dict(result.metrics)
            if metrics.get("rmw_reads", 0) > 0 and _logical_pages(result) < finest[_place(result)]:
                metrics.pop(WRITE_AMPLIFICATION, None)
            label = name if is_single else f"{name}, {result.policy}"
            common = ftl_label(tuple(shared[_place(result)].items()))
            result = replace(result, policy=label, ftl=common, metrics=metrics)
        shown.append(result)
    labels = [new.policy for old, new in zip(results, shown, strict=True) if old.policy in learned]
    return shown, list(dict.fromkeys(labels))


def long_names(results: Sequence[Result]) -> dict[str, str]:
    """Return, by short names in tables, the full names of policies or the options in which FTLs differ."""
    names = ftl_names(results)
    if not any(names):
        return {short: name for name, short in short_names(policies_of(results)).items() if short != name}
    shared = _shared(results)
    own = (_options(result.ftl).items() - shared[_place(result)].items() for result in results)
    options = dict(zip(names, map(sorted, own), strict=True))
    return {name: ftl_label(tuple(of)) for name, of in options.items() if len(of) > len(name.split())}


def ftl_names(results: Sequence[Result]) -> list[str]:
    """Return for each result a name of its FTL: the options that not all FTLs on device and workload share.

    The options `kind` and `mapping` are written as their values, such as `cgm` or `page`. If no other FTL has
    these values, other options are left out. An FTL without such options is `default`. The name is empty if
    device and workload have a single FTL.
    """
    shared, own = _shared(results), dict[Place, dict[str, dict[str, str]]]()
    for result in results:
        given = dict(sorted(_options(result.ftl).items() - shared[_place(result)].items()))
        own.setdefault(_place(result), {})[result.ftl] = given
    names = []
    for result in results:
        ftls = own[_place(result)]
        words = {text: [given[name] for name in _WORDS if name in given] for text, given in ftls.items()}
        name = words[result.ftl]
        if not name or list(words.values()).count(name) > 1:
            name = name + [f"{key}={value}" for key, value in ftls[result.ftl].items() if key not in _WORDS]
        names.append(" ".join(name) or "default" if len(ftls) > 1 else "")
    return names


def _place(result: Result) -> Place:
    return result.device, result.workload


def _logical_pages(result: Result) -> float:
    return float(result.metrics.get("logical_pages", 0))


def _options(text: str) -> dict[str, str]:
    """Return the FTL options of a result by name; nested options have dotted names."""
    return {name: value for name, _, value in (option.partition("=") for option in split_options(text))}


def _shared(results: Iterable[Result]) -> dict[Place, dict[str, str]]:
    """Return, by device and workload, the options that all FTLs have in common, with their values."""
    shared: dict[Place, dict[str, str]] = {}
    for result in results:
        given = _options(result.ftl)
        kept = shared.setdefault(_place(result), given)
        shared[_place(result)] = dict(kept.items() & given.items())
    return shared


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


def tables(results: Sequence[Result], *, intervals: bool = False) -> list[Table]:
    """Return one table per task and, if there are several tasks, one over all tasks.

    Rows are sorted by write amplification, the smallest first; each FTL has its own rows. Every number is the
    interquartile mean over seeds, averaged over tasks. Intervals are from a bootstrap stratified by task.

    Args:
        results: results of a grid.
        intervals: whether every number has an interval; otherwise only write amplification has one.
    """
    heading, title = "policy", "{}"
    if any(ftl_names(results)):
        policies = policies_of(results)
        heading, title = ("FTL", f"{{}}, {policies[0]}") if len(policies) == 1 else ("FTL, policy", "{}")
    groups = [group for group in groups_of(side_by_side(results)[0]) if group.results]
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
    for result in side_by_side(results)[0]:
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


def markdown_table(results: Sequence[Result]) -> str:
    """Return the tables as Markdown, each with a heading and a caption."""
    return "\n".join(line for table in tables(results) for line in table.to_section())


def verdicts(results: Sequence[Result], learned: Sequence[str]) -> list[str]:
    """Return a sentence per FTL, group of tasks and learned policy: how it compares to the best heuristic."""
    names = ftl_names(results)
    shown, ours = side_by_side(results, learned)
    sentences = []
    for name in dict.fromkeys(names):
        for group in groups_of([result for result, its in zip(shown, names, strict=True) if its == name]):
            if not measured(group.results, WRITE_AMPLIFICATION):
                continue
            best = best_heuristic(group.results, ours)
            if best is not None:
                sentences += [
                    f"{group.title}: {verdict(advantage(group.results, policy, best))}"
                    for policy in ours
                    if policy in policies_of(group.results)
                ]
    return sentences
