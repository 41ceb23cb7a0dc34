"""What the pages say about each environment: its decision, what is observed, and its scores.

Scores are read from `tables/tuned-reached.csv`, which `examples/tuned.py` writes; returns with default
arguments from `tables/sound.csv`, by `examples/sound_tasks.py`. `docs/reference.py` writes the pages.
"""

from __future__ import annotations

import csv
import inspect
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.features import registered_features
from ssdgym.envs.sources import load_devices, load_workloads
from ssdgym.registration import ENVIRONMENTS, tasks

DOCS = Path(__file__).parent
#: The decision of each environment, as a cell of a table.
DECIDES = {
    "EraseVictim-v0": "which block to erase next",
    "ParallelErase-v0": "which blocks to erase together",
    "Placement-v0": "which write stream a page goes to",
    "JointGC-v0": "both: victim and write stream",
    "BackgroundGC-v0": "how far an idle die collects",
    "WearLevel-v0": "which cold block moves to a worn one",
    "SubpageRegion-v0": "where parts of pages go",
    "MergePlan-v0": "how blocks merge",
}
_NUMBER = re.compile(r"-?[\d,]*\.?\d+")


class Score(NamedTuple):
    """A row of measurements with one setting; cells are texts with a mean and its 95 % interval."""

    settings: str
    environment: str
    workload: str
    measured: str
    learned: str
    best: str
    random: str

    @property
    def rule(self) -> str:
        """The name of the best heuristic."""
        return self.best.split("`")[1]

    @property
    def of_rule(self) -> str:
        """The result of the best heuristic, as text."""
        return self.best.rpartition("` ")[2]

    @property
    def normalised(self) -> list[float] | None:
        """Mean and interval of the learner's score: random actions score 0, the best heuristic 1.

        None if random actions are not worse than the heuristic.
        """
        random, rule = _numbers(self.random)[0], _numbers(self.of_rule)[0]
        better = rule < random if self.measured == "write amplification" else rule > random
        if not better:
            return None
        mean, *ends = ((value - random) / (rule - random) for value in _numbers(self.learned))
        return [mean, *sorted(ends)]

    @property
    def words(self) -> str:
        """The normalised score as text."""
        found = self.normalised
        return "none" if found is None else "{:.2f} [{:.2f}, {:.2f}]".format(*(one + 0.0 for one in found))

    @property
    def command(self) -> str:
        """The command that trains the agent of the row; for a search, it also measures the rivals."""
        settings = self.settings.strip("`")
        if settings.startswith("ppo-"):
            return f"ssdgym train {settings} --seed 1 --out runs/{settings}"
        if ".py" in settings:
            return f"python docs/examples/{settings} --workload {self.workload} --seed 1"
        name = self.environment.partition("-")[0]
        return f"python docs/examples/search_settings.py --only {name} --trials 5 --file {name}.tsv"


def _numbers(cell: str) -> list[float]:
    return [float(number.replace(",", "")) for number in _NUMBER.findall(cell)]


def _rows(name: str) -> list[list[str]]:
    with (DOCS / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def scores(environment: str) -> list[Score]:
    """Return the rows of an environment, in the order of the file."""
    found = [Score(*row[:7]) for row in ([cell.strip() for cell in row] for row in _rows("tuned-reached"))]
    found = [row._replace(environment=row.environment.strip("`")) for row in found]
    return [row for row in found if row.environment == environment]


def table(header: str, rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in row)} |" for row in rows]
    return "\n".join([f"| {header} |", "|---" * (header.count("|") + 1) + "|", *lines])


def overview() -> str:
    """Return the table of README: the first row of scores of each environment."""
    rows = []
    for name, decides in DECIDES.items():
        first = scores(name)[0]
        mean = first.normalised
        wa = first.measured == "write amplification"
        numbers = [_numbers(cell)[0] for cell in (first.random, first.of_rule, first.learned)]
        rows.append(
            (
                f"[`{name}`](docs/environments.md#{name.lower()})",
                decides,
                f"`{first.workload}`",
                f"`{first.rule}`",
                "none: random is ahead" if mean is None else f"{mean[0] + 0.0:.2f}",
                " / ".join(f"{number:.2f}" for number in numbers) if wa else "",
            )
        )
    return table(
        "environment | decision | workload | best heuristic | agent's score | WA: random / heuristic / agent",
        rows,
    )


def sections() -> str:
    """Return a section for each environment."""
    return "\n".join(line for name in DECIDES for line in _section(name))


def _section(name: str) -> Iterator[str]:
    short, module = name.partition("-")[0], import_module(f"ssdgym.envs.{ENVIRONMENTS[name]}")
    environment: type[DecisionEnv] = getattr(module, f"{short}Env")
    parts = _parts(environment)
    yield from (f"## {name}", "", f"Decides {DECIDES[name]}.", "")
    for look in ("light", "dark"):
        yield f"![{short}](pictures/environments/{short}-{look}.svg#gh-{look}-mode-only)"
    yield from ("", parts["Description"].partition("See `ssdgym.envs.DecisionEnv`")[0].strip(), "")
    yield from ("**Actions.**", parts["Action Space"], "")
    named = {
        one: ", ".join(map(str, getattr(module, one))) for one in dir(module) if one.endswith("_PROPOSERS")
    }
    arguments = re.sub(r"`([A-Z]+_PROPOSERS)`", lambda found: f"`{named[found[1]]}`", parts["Arguments"])
    yield from ("**Arguments**, beside [those of all](#all-environments):", "", arguments, "")
    yield from ("**Observed by default:**", "", _observed(environment), "")
    yield from ("**Reward.**", parts["Rewards"].replace("`ssdgym.envs.PlacementEnv`", "`Placement-v0`"), "")
    yield from (
        _scale(name),
        "",
        f"### Scores of {short}",
        "",
        _scores(name),
        "",
        "Each command trains the agent of one row:",
        "",
    )
    yield "```bash"
    yield from dict.fromkeys(row.command for row in scores(name))
    yield from ("```", "")


def shared() -> str:
    """Return the sections of `DecisionEnv` on spaces, episodes and arguments."""
    parts = _parts(DecisionEnv)
    names = ("Action Space", "Observation Space", "Rewards", "Starting State", "Episode End", "Arguments")
    return "\n\n".join(f"### {name}\n\n{parts[name]}" for name in names)


def _parts(environment: type[DecisionEnv]) -> dict[str, str]:
    """Return the sections of a docstring by their headings."""
    pieces = re.split(r"^## (.+)$", inspect.getdoc(environment) or "", flags=re.MULTILINE)
    return {head: text.strip() for head, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def _observed(environment: type[DecisionEnv]) -> str:
    """Return a table of the default features on the default device, with one row for all picks."""
    options = environment.options_type()
    devices = load_devices(options.device, options.ftl, load_workloads(options.workload), False)
    decision = options.decision()
    decision.observe("default", [decision.adapt(device) for device in devices])
    known = {one.feature.name: one.feature for one in registered_features()}
    names, rows = decision.features.names(), []
    for key in ("candidates", "context"):
        proposed = [name for name in names[key] if name not in known]
        own = (known[name] for name in names[key] if name in known)
        rows += [(key, f"`{one.name}`", one.meaning, f"{one.low:g} to {one.high:g}") for one in own]
        if proposed:
            label = "`proposed_by_*`" if proposed[1:] else f"`{proposed[0]}`"
            rows.append((key, label, "1 for the pick of that proposer", "0 to 1"))
    return table("in | feature | meaning | range", rows)


def _scale(name: str) -> str:
    """Return a sentence on the returns of episodes with default arguments."""
    found = {row[0].strip("`"): row[1:] for row in _rows("sound")}
    if name not in found:
        return "Scale: none of its proposers takes all decisions, so only the scores below are known."
    random, rule = found[name]
    value, _, label = rule.partition(" ")
    return (
        f"Scale: with default arguments the return of an episode is {random} under random actions, "
        f"{value} under {label} (mean of four episodes)."
    )


def _scores(name: str) -> str:
    rows = (
        (f"`{row.workload}`", row.measured, row.random, f"`{row.rule}` {row.of_rule}")
        + (f"{row.learned} by {row.settings}", row.words)
        for row in scores(name)
    )
    return table("workload | measured | random action | best heuristic | learned | score", rows)


def papers() -> str:
    """Return the table of the tasks of papers."""
    found = {row[0].strip("`"): row[1:] for row in _rows("sound")}
    rows = (
        (f"`{name}`", f"`{one['environment']}`", f"`{one['device']['small']}`, `{one['device']['paper']}`")
        + (f"`{one['workload']}`", *found[name])
        for name, one in tasks().items()
    )
    return table("task | environment | device: small, paper | workload | random action | best rule", rows)
