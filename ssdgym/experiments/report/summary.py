"""Tables of what runs measured, for policies and for FTLs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Group as Renderables

from ssdgym.config.fields import dotted
from ssdgym.config.ftl import FtlConfig
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
from ssdgym.experiments.report.tables import BETWEEN, NOTHING, Entry, Table
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.spec import ftl_label, split_options

#: An FTL of which nothing is known but that it is the device's own.
OWN = "default"
#: Fields that name an FTL by their value alone: the kind or, in a family without kinds, the family.
_WORDS = ("kind", "mapping")

Options = Mapping[str, str]
Place = tuple[str, str]


def side_by_side(results: Sequence[Result], learned: Collection[str] = ()) -> tuple[list[Result], list[str]]:
    """Return results whose policies have short names and those of their FTLs, and the learned among these.

    On a device and workload with several FTLs, the name of the FTL goes before that of the policy, or stands
    for it where there is a single one, and what the FTLs have in common stays with the task. Where their
    logical pages are of several sizes and larger ones were written in part, the write amplification of these
    is left out: it is of pages, not of bytes.
    """
    shared, finest = _shared(results), dict[Place, float]()
    for result in results:
        finest[_place(result)] = max(finest.get(_place(result), 0), _logical_pages(result))
    is_single = len({result.policy for result in results}) == 1
    shown, ftls = [], ftl_names(results)
    short = {} if any(ftls) else short_names(policies_of(results))
    for result, name in zip(results, ftls, strict=True):
        if short.get(result.policy, result.policy) != result.policy:
            result = replace(result, policy=short[result.policy])
        if name:
            metrics = dict(result.metrics)
            if metrics.get("rmw_reads", 0) > 0 and _logical_pages(result) < finest[_place(result)]:
                metrics.pop(WRITE_AMPLIFICATION, None)
            label = name if is_single else f"{name}, {result.policy}"
            result = replace(
                result, policy=label, ftl=ftl_label(tuple(shared[_place(result)].items())), metrics=metrics
            )
        shown.append(result)
    labels = [new.policy for old, new in zip(results, shown, strict=True) if old.policy in learned]
    return shown, list(dict.fromkeys(labels))


def long_names(results: Sequence[Result]) -> dict[str, str]:
    """Return the policies that have a short name in tables and figures, by that name."""
    names = {} if any(ftl_names(results)) else short_names(policies_of(results))
    return {short: policy for policy, short in names.items() if short != policy}


def ftl_names(results: Sequence[Result]) -> list[str]:
    """Return the name of each result's FTL: what differs from the others that its workload was run on.

    A kind, or a family without kinds, goes by its word alone, such as `cgm` or `page`, other options as they
    are written. The name is empty where there is a single FTL.
    """
    shared, texts = _shared(results), dict[Place, set[str]]()
    for result in results:
        texts.setdefault(_place(result), set()).add(result.ftl)
    differing = [
        ftl_label(tuple(_options(result.ftl).items() - shared[place].items()))
        if len(texts[place]) > 1
        else None
        for result in results
        for place in [_place(result)]
    ]
    given = {text: _options(text) for text in differing if text is not None}
    if not given:
        return [""] * len(results)
    # Where every FTL was given another family or kind, what the device's own has is of no use.
    device = {} if any(word in options for options in shared.values() for word in _WORDS) else _own(results)
    named = {name for options in given.values() for name in options}
    whole = {text: _whole(options, device, named) for text, options in given.items()}
    names = {text: _name(options, list(whole.values())) for text, options in whole.items()}
    if len(set(names.values())) < len(names):
        names = {text: text or OWN for text in names}
    return ["" if text is None else names[text] for text in differing]


def _place(result: Result) -> Place:
    return result.device, result.workload


def _logical_pages(result: Result) -> float:
    return float(result.metrics.get("logical_pages", 0))


def _options(text: str) -> dict[str, str]:
    """Return the FTL options of a result by name, dotted for nested ones."""
    pairs = (option.partition("=") for option in split_options(text))
    return {name: value for name, _, value in pairs}


def _text(options: Options) -> str:
    return ftl_label(tuple(options.items()))


def _shared(results: Iterable[Result]) -> dict[Place, dict[str, str]]:
    """Return, by device and workload, the options that all FTLs there were given."""
    shared: dict[Place, dict[str, str]] = {}
    for result in results:
        given = _options(result.ftl)
        kept = shared.setdefault(_place(result), given)
        shared[_place(result)] = dict(kept.items() & given.items())
    return shared


def _own(results: Iterable[Result]) -> dict[str, str]:
    """Return what the FTLs of all devices have in common, by dotted names, where results have specs."""
    specs = {result.device: result.spec for result in results}.values()
    fields = [dotted(json.loads(spec)["device"]["ftl"]) if spec else () for spec in specs]
    return dict(set.intersection(*({(name, str(value)) for name, value in pairs} for pairs in fields)))


def _whole(given: Options, device: Options, named: Collection[str]) -> dict[str, str]:
    """Return the options of an FTL with the device's own where only others were given some."""
    own = {name: device[name] for name in _WORDS if name in device}
    if given.get("mapping", own.get("mapping")) != own.get("mapping"):
        return dict(given)
    of_every_kind = ("gc", *FtlConfig.model_fields)
    is_own_kind = given.get("kind", own.get("kind")) == own.get("kind")
    kept = [name for name in named if is_own_kind or name.partition(".")[0] in of_every_kind]
    return {**own, **{name: device[name] for name in kept if name in device}, **given}


def _name(one: Options, every: Sequence[Options]) -> str:
    word = _word(one) if len({_word(options) for options in every}) > 1 else ""
    parts = [word] if word else []
    parts += [
        f"{name}={value}"
        for name, value in sorted(one.items())
        if name not in _WORDS and any(_differs(name, a, b) for a in every for b in every)
    ]
    return " ".join(parts) or OWN


def _word(options: Options) -> str:
    return next((options[name] for name in _WORDS if name in options), "")


def _differs(name: str, one: Options, other: Options) -> bool:
    """Return whether two FTLs differ in a field; one that only other kinds have is a part of the kind."""
    comparable = _word(one) == _word(other) or (name in one and name in other)
    return comparable and one.get(name) != other.get(name)


#: Above this share of the relocated pages a policy is judged by its space more than by its choices.
MUCH_OVERFLOW = 0.01


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        metrics: names of metrics, one number for each.
        text: turns a number into text.
        parts: what the metrics differ in; a single empty one for a single metric.
        interval: whether the text has the interval, too.
        needs_some: whether a column of zeros says nothing and is left out.
    """

    heading: str
    metrics: tuple[str, ...]
    text: Callable[[float], str]
    parts: tuple[str, ...] = ("",)
    interval: bool = False
    needs_some: bool = False

    @property
    def title(self) -> str:
        """The heading with its parts, on one line."""
        interval = "[95 %]" if self.interval else ""
        return " ".join(filter(None, (self.heading, interval, BETWEEN.join(self.parts))))


def _latency_column(operation: str) -> Column:
    parts = ("mean", "p99", "p99.9")
    metrics = tuple(f"{operation}_latency_ns/{part}" for part in parts)
    return Column(f"{operation} (µs)", metrics, lambda value_ns: f"{value_ns / 1_000:,.0f}", parts)


COLUMNS = (
    Column("WA", (WRITE_AMPLIFICATION,), "{:.3f}".format, interval=True),
    Column("request WAF", ("request_waf",), "{:.3f}".format),
    Column("RMW", ("rmw_share",), "{:.1%}".format, needs_some=True),
    Column("moved MiB", ("moved_bytes",), lambda moved: f"{moved / 2**20:,.1f}"),
    Column("overflow", ("overflow_share",), "{:.2%}".format, needs_some=True),
    Column("erases", ("erases",), "{:,.0f}".format),
    Column("life (pages)", ("lifetime/host_pages_written",), "{:,.0f}".format),
    Column("endurance used", ("lifetime/endurance_used",), "{:.1%}".format),
    Column("retired blocks", ("lifetime/retired_blocks",), "{:,.0f}".format),
    Column("IOPS", ("requests_per_s",), "{:,.0f}".format),
    _latency_column("read"),
    _latency_column("write"),
)


@dataclass(frozen=True)
class PolicyRow:
    """One policy, or one on one of several FTLs: for each of `COLUMNS`, an entry for each of its metrics."""

    policy: str
    entries: tuple[tuple[Entry, ...], ...]


@dataclass(frozen=True)
class Section:
    """The rows of one task, or of several tasks together, in rising order of write amplification.

    Attributes:
        rows: one for each policy, or for each of several FTLs and policy.
        heading: of the column of their names.
        policy: of all rows, where they are named by their FTLs alone.
    """

    group: TaskGroup
    rows: tuple[PolicyRow, ...]
    heading: str
    policy: str = ""

    @property
    def table(self) -> Table:
        """The columns that have something to show, with all numbers of one in a cell, after the names."""
        numbers = shown_columns(self.rows)
        shown = [COLUMNS[number] for number in numbers]
        rows = [
            (Entry(row.policy), *(_joined(COLUMNS[number], row.entries[number]) for number in numbers))
            for row in self.rows
        ]
        headings = (self.heading, *(column.title for column in shown))
        return Table(self.title, self.caption, headings, tuple(rows))

    @property
    def title(self) -> str:
        """The name of the tasks, and of the policy if all rows have the same."""
        return ", ".join(filter(None, (self.group.title, self.policy)))

    @property
    def caption(self) -> str:
        """Sentences on what the numbers are, and of how many seeds."""
        what = describe(len(self.group.seeds), len(self.group.tasks), "in brackets")
        wrote = [result for result in self.group.results if result.metrics.get("host_pages_written")]
        if not all(result.measured(WRITE_AMPLIFICATION) for result in wrote):
            what += " WA has a dash where an FTL counts whole pages of which the host writes parts."
        return what


def shown_columns(rows: Sequence[PolicyRow]) -> list[int]:
    """Return the numbers of the columns of which some row has something to show."""
    return [
        number
        for number, column in enumerate(COLUMNS)
        if any(
            entry.number or (entry.number is not None and not column.needs_some)
            for row in rows
            for entry in row.entries[number]
        )
    ]


def describe(seeds: int, tasks: int, where: str) -> str:
    """Return a sentence on what the numbers of so many seeds and tasks are."""
    if seeds < 2:
        what = "The value of one seed, which has no interval"
        return f"{what}, mean over {tasks} tasks." if tasks > 1 else f"{what}."
    # Of fewer than four numbers the interquartile mean leaves none out.
    what = f"{'interquartile mean' if seeds >= 4 else 'mean'} over {seeds} seeds"
    what = f"Mean over {tasks} tasks of the {what}" if tasks > 1 else what[0].upper() + what[1:]
    return f"{what}; {where} the 95 % interval of a bootstrap stratified by task."


def sections(results: Sequence[Result]) -> list[Section]:
    """Return one section per task, and one each over the held-out and over all tasks if there are several.

    Every number is the interquartile mean over seeds, over several tasks the mean of theirs; its interval
    is a bootstrap stratified by task. Of several FTLs each has rows of its own, and none is averaged with
    another one.
    """
    policies = policies_of(results)
    heading, policy = "policy", ""
    if any(ftl_names(results)):
        heading, policy = ("FTL", policies[0]) if len(policies) == 1 else ("FTL, policy", "")
    shown, _ = side_by_side(results)
    return [_section(group, heading, policy) for group in groups_of(shown) if group.results]


def overflow_notes(results: Sequence[Result]) -> list[str]:
    """Return a sentence for every policy of which so many pages overflowed that it is judged by its space."""
    worst: dict[str, float] = {}
    for result in side_by_side(results)[0]:
        share = result.metrics.get("overflow_share") or 0.0
        worst[result.policy] = max(worst.get(result.policy, 0.0), share)
    return [
        f"{policy}: up to {share:.1%} of the relocated pages went to another stream than their own, since "
        "free blocks were short: the comparison is about space; raise gc.free_blocks or over_provisioning."
        for policy, share in worst.items()
        if share > MUCH_OVERFLOW
    ]


def _section(group: TaskGroup, heading: str, policy: str) -> Section:
    rows = [_row(group.results, row) for row in policies_of(group.results)]
    return Section(group, tuple(sorted(rows, key=_rank)), heading, policy)


def _rank(row: PolicyRow) -> float:
    """Return the write amplification, or infinity for runs that wrote nothing, so that they come last."""
    number = row.entries[0][0].number
    return math.inf if number is None else number


def _row(results: Sequence[Result], policy: str) -> PolicyRow:
    own = [result for result in results if result.policy == policy]
    return PolicyRow(
        policy,
        tuple(tuple(_entry(own, policy, metric, column) for metric in column.metrics) for column in COLUMNS),
    )


def _entry(results: Sequence[Result], policy: str, metric: str, column: Column) -> Entry:
    if not measured(results, metric):
        return NOTHING
    return Entry.of(*summarize(results, policy, metric), column.text)


def _joined(column: Column, entries: Sequence[Entry]) -> Entry:
    """Return the numbers of a cell as one entry, with the first of them."""
    texts = [str(entry) if column.interval else entry.text for entry in entries]
    return Entry(
        BETWEEN.join(texts), number=next((one.number for one in entries if one.number is not None), None)
    )


def rich_tables(results: Sequence[Result], learned: Sequence[str] = ()) -> Renderables:
    """Return tables for the terminal, one per section."""
    _, bold = side_by_side(results, learned)
    return Renderables(*(section.table.to_rich(bold) for section in sections(results)))


def markdown_table(results: Sequence[Result]) -> str:
    """Return the same tables as Markdown, each with a heading and a caption."""
    tables = [section.table for section in sections(results)]
    blocks = ["\n".join([f"### {one.title}", "", one.caption, "", *one.to_markdown()]) for one in tables]
    return "\n\n".join(blocks) + "\n"


def latex_table(results: Sequence[Result]) -> str:
    r"""Return the same tables as LaTeX, one `table` per section; they need `\usepackage{booktabs}`."""
    return "\n\n".join("\n".join(section.table.to_latex()) for section in sections(results)) + "\n"


def verdicts(results: Sequence[Result], learned: Sequence[str]) -> list[str]:
    """Return a sentence for every learned policy and group of tasks, against the best heuristic there.

    Each FTL is judged by itself.
    """
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
