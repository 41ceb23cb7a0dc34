"""Write the generated parts of the pages from the code: `python -m docs.reference`.

A generated part is between `<!-- NAME -->` and `<!-- /NAME -->`. NAME is a key of `REFERENCE` or a file
beside the page: a CSV file becomes a table, a leaderboard (JSON) a summary, any other file a block of code.
"""

from __future__ import annotations

import ast
import csv
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from docs.records import calls, feature_records, helpers, rule_records
from docs.scores import overview, papers, sections, shared, table
from ssdgym.agents.training.config import EvolutionConfig, TrainConfig
from ssdgym.cli import command_tree
from ssdgym.config.block import BlockFtl
from ssdgym.config.device import PRECONDITIONING, DeviceConfig, load_device
from ssdgym.config.loading import Config
from ssdgym.config.page import PageFtl
from ssdgym.config.subpage import SubpageFtl
from ssdgym.engine.core.records import COUNTERS, SUMMED_COUNTERS
from ssdgym.envs.features import Setting, registered_features
from ssdgym.envs.features.registry import CALLED_WITH
from ssdgym.envs.rewards.terms import TERMS
from ssdgym.experiments.leaderboard.board import read_board
from ssdgym.experiments.leaderboard.suites import SuiteConfig, load_suite
from ssdgym.experiments.leaderboard.text import MEANINGS, summary
from ssdgym.experiments.papers.claims import VERDICTS
from ssdgym.experiments.papers.config import AnyClaim
from ssdgym.experiments.papers.functions import FUNCTIONS
from ssdgym.experiments.runs.config import ExperimentConfig
from ssdgym.experiments.sweeps.config import SweepConfig
from ssdgym.policy import Kind, Policy, Rule, available_policies, available_rules
from ssdgym.simulator.cells import lifetime_metrics
from ssdgym.simulator.families import FamilyBuilder
from ssdgym.simulator.families.block import BlockFamily
from ssdgym.simulator.families.subpage import SubpageFamily
from ssdgym.simulator.metrics import metrics_of
from ssdgym.workloads.generators.base import PacedConfig
from ssdgym.workloads.registry import KINDS
from ssdgym.workloads.traces.reading import columns
from ssdgym.workloads.traces.reading.text import TextFormat
from ssdgym.workloads.traces.registry import TraceFormat, formats
from ssdgym.workloads.traces.transforms import TransformConfig

DOCS = Path(__file__).parent
ROOT = DOCS.parent
BLOCK = re.compile(r"^<!-- ([^\n]+) -->$.*?^<!-- /\1 -->$", re.MULTILINE | re.DOTALL)
#: Kinds of decisions, each with the default device of its environment.
_DECISIONS = {
    ("ERASE",): "demo",
    ("PLACE", "RELOCATE"): "demo-placement",
    ("IDLE",): "demo-idle",
    ("REGION",): "demo-region",
    ("MERGE",): "pen-demo",
    ("LEVEL",): "demo",
}


def written(page: Path) -> str:
    """Return a page whose generated parts are up to date; unknown markers stay unchanged."""
    return BLOCK.sub(lambda found: _block(found, page.parent), page.read_text(encoding="utf-8"))


def _block(found: re.Match[str], folder: Path) -> str:
    name = found[1]
    if name not in REFERENCE and not (folder / name).is_file():
        return found[0]
    text = REFERENCE[name]() if name in REFERENCE else _file(folder / name)
    return f"<!-- {name} -->\n\n{text.strip()}\n\n<!-- /{name} -->"


def _file(path: Path) -> str:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        return table(" | ".join(header), rows)
    if path.suffix == ".json":
        return summary(read_board(path))
    language = {".diff": "diff", ".py": "python"}[path.suffix]
    return f"```{language}\n# {path.relative_to(DOCS / 'examples')}\n{path.read_text(encoding='utf-8')}```"


def _compositions() -> str:
    policies = [policy for policy in available_policies().values() if policy.alias]
    return table("name | rules | erases | planes together | source", map(_composition, policies))


def _composition(policy: Policy) -> tuple[object, ...]:
    erases, planes = policy.main.erase_unit or "block", policy.main.multi_plane or "as the device"
    return f"`{policy.name}`", f"`{policy.composition}`", erases, planes, policy.source


def _victim_rules() -> str:
    return "\n".join(_section(policy.victim) for policy in available_policies().values() if not policy.alias)


def _section(rule: Rule) -> str:
    """Return a rule's definition, its parameters and its source."""
    return "\n".join([f"### `{rule.name}`", "", _docstring(rule), "", *_facts(rule)])


def _sections(kind: Kind) -> Callable[[], str]:
    """Return a function that writes the sections of all rules of a kind."""
    return lambda: "\n".join(map(_section, available_rules(kind).values()))


def _docstring(rule: Rule) -> str:
    """Return the docstring of a rule's function, or of its file if that defines the rule or numbers steps."""
    module = rule.function.__module__ if rule.function else f"ssdgym.baselines.placements.{rule.name}"
    whole = importlib.import_module(module).__doc__ or ""
    return whole.strip() if rule.function is None or "* **E" in whole else inspect.getdoc(rule.function) or ""


def _definition(package: str) -> Callable[[], str]:
    """Return a function that writes the docstring of a package of `baselines`, without its first line."""
    name = f"ssdgym.baselines.{package}"
    return lambda: (inspect.getdoc(importlib.import_module(name)) or "").partition("\n\n")[2]


def _facts(rule: Rule) -> Iterator[str]:
    defaults = ", ".join(f"`{name}={value:g}`" for name, value in rule.parameters.items())
    if defaults:
        yield f"* Parameters: {defaults}"
    if rule.kind == "victim" and rule.erase_unit:
        yield f"* Erases: `erase_unit: {rule.erase_unit}`"
    if rule.kind == "placement":
        yield f"* Streams: {rule.streams}"
    yield f"* Source: {rule.source}"
    yield ""


def _features() -> str:
    settings = [Setting((load_device(device),), kinds=decisions) for decisions, device in _DECISIONS.items()]
    rows = (
        (
            f"`{one.feature.name}`",
            one.kind,
            one.feature.meaning,
            f"{one.feature.low:g} to {one.feature.high:g}",
            "yes" if any(one.kind in which.described and one.default(which) for which in settings) else "",
        )
        for one in registered_features()
    )
    return table("name | of a | meaning | values | default", rows)


def _scripts() -> str:
    """Return a table of the scripts in `docs/examples`, each with the first line of its docstring."""
    return table("script | does", map(_script, sorted((DOCS / "examples").glob("*.py"))))


def _script(path: Path) -> tuple[str, str]:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return f"[`{path.name}`](examples/{path.name})", text.partition("\n")[0]


def _meanings(name: str, meanings: Mapping[Any, str], verb: str = "means") -> Callable[[], str]:
    """Return a function that writes a table of words and their meanings."""
    return lambda: table(f"{name} | {verb}", iter(meanings.items()))


def _said_by(function: Callable[..., Any]) -> Callable[[], str]:
    """Return a function that writes the docstring of `function`, without its first paragraph and `Args`."""
    text = (inspect.getdoc(function) or "").partition("\n\n")[2].partition("\n\nArgs:")[0]
    return lambda: re.sub(" {2,}", " ", text)


def _suites() -> str:
    """Return a table of the suites that come with ssdgym."""
    names = sorted(path.stem for path in (ROOT / "configs" / "suites").glob("*.yaml"))
    return table("suite | measures | workloads of the test split", map(_suite, names))


def _suite(name: str) -> tuple[object, ...]:
    suite = load_suite(name)
    tests = (one if isinstance(one, str) else one.get("path", one["kind"]) for one in suite.splits["test"])
    return f"`{name}`", suite.description, ", ".join(dict.fromkeys(f"`{test}`" for test in tests))


def _feature_kinds() -> str:
    """Return a table of the arguments of feature functions, by the kind of what a feature describes."""
    rows = (
        (f"`{kind}`", f"`{', '.join(words)}`", "candidates" if len(words) == 3 else "context")
        for kind, words in CALLED_WITH.items()
    )
    return table("a feature of a | has the arguments | is a column of", rows)


def _trace_formats() -> str:
    return table("name | files | columns", map(_trace_format, formats().values()))


def _trace_columns() -> str:
    return str(columns.__doc__).partition("\n\n")[2].strip()


def _trace_format(one: TraceFormat) -> tuple[object, ...]:
    """Return the name, meaning and columns of a format."""
    return f"`{one.name}`", one.meaning, f"`{one.text}`" if isinstance(one, TextFormat) else ""


def _reward_terms() -> str:
    rows = ((f"`{term.name}`", term.meaning, "time" * term.needs_time) for term in TERMS.values())
    return table("term | cost | needs", rows)


def _counters() -> str:
    """Return a table of the counters, with the comments of their record; it says which are no metrics."""
    source = (ROOT / "ssdgym/engine/core/records.py").read_text(encoding="utf-8")
    record = source.partition("COUNTERS = ")[2].partition("]")[0]
    meanings = dict(re.findall(r'^ +\("(\w+)", "i8"\),  # (.*)$', record, re.MULTILINE))
    rows = (
        (f"`{name}`", meanings.get(name, ""), "no" if name in SUMMED_COUNTERS else "yes")
        for name in COUNTERS.names or ()
    )
    return table("counter | of | metric", rows)


def _commands() -> str:
    return "\n".join(_command("ssdgym", command_tree()))


def _command(name: str, command: Any) -> Iterator[str]:
    """Yield the section of a command, or the sections of all commands of a group."""
    if inner_commands := getattr(command, "commands", None):
        for inner, one in inner_commands.items():
            yield from _command(f"{name} {inner}", one)
        return
    text, _, examples = inspect.cleandoc((command.help or "").replace("\b\n", "")).partition("Examples:")
    yield from (f"### {name}", "", text.strip(), "")
    if examples:
        yield from ("```console", *filter(None, map(str.strip, examples.splitlines())), "```", "")
    own = (option for option in command.params if option.name not in ("modules", "is_json"))
    yield table("option | default | meaning", map(_option, own))
    yield ""


def _option(option: Any) -> tuple[object, ...]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    default = option.default() if callable(option.default) else option.default
    return names, _shown(default), getattr(option, "help", "") or ""


def _fields(model: type[Config], *but: str) -> Callable[[], str]:
    """Return a function that writes the table of the fields of a model, except some fields."""
    return lambda: table("field | default | meaning", _fields_of(model, "", frozenset(but)))


def _family_metrics(family: type[FamilyBuilder]) -> Callable[[], str]:
    """Return a function that writes the docstrings on the metrics of a family."""
    table_of = inspect.getmodule(family).mapping_table_bytes  # type: ignore[union-attr]
    texts = (inspect.getdoc(function) or "" for function in (family.metrics, table_of))
    text = "\n\n".join(text.partition("\n\n")[2] for text in texts)
    return lambda: text


def _kinds(union: Any, name: str, *, with_fields: bool) -> Callable[[], str]:
    """Return a function that writes a table of the models of a union: their kinds and meanings."""
    return lambda: table(f"{name} | means", (_kind(model, with_fields) for model in _models_in(union)))


def _kind(model: type[Config], with_fields: bool) -> tuple[str, str]:
    """Return kind and first paragraph of a model, and its fields if `with_fields`."""
    (kind,) = get_args(model.model_fields["kind"].annotation)
    meaning = (inspect.getdoc(model) or "").partition("\n\n")[0].replace("\n", " ")
    fields = {name: field for name, field in model.model_fields.items() if name != "kind" and with_fields}
    said = "".join(f" `{name}`: {field.description}" for name, field in fields.items())
    return f"`{kind}({', '.join(fields)})`" if with_fields else f"`{kind}`", meaning + said


def _claim_functions() -> str:
    """Return a table of the functions that judge claims: their arguments and meanings."""
    rows = (
        (f"`{name}({', '.join(list(inspect.signature(function).parameters)[2:])})`", _first_line(function))
        for name, (function, _) in FUNCTIONS.items()
    )
    return table("function | judges", rows)


def _first_line(function: Callable[..., Any]) -> str:
    """Return the first sentence of a docstring that begins with `Judge`, without that word."""
    return (inspect.getdoc(function) or "").partition("\n")[0].removeprefix("Judge ").rstrip(".")


def _workload_fields() -> str:
    """Return a table of fields for each kind of workload; a separate table has the fields of pace."""
    parts = []
    for kind, model in KINDS.by_name().items():
        pace = PacedConfig.model_fields if issubclass(model, PacedConfig) else ()
        meaning = (inspect.getdoc(model) or "").partition("\n\n")[0].replace("\n", " ")
        parts += [f"### {kind}", "", meaning, "", _fields(model, "kind", *pace)(), ""]
    return "\n".join(parts)


def _fields_of(
    model: type[Config], prefix: str, but: frozenset[str] = frozenset()
) -> Iterator[tuple[object, ...]]:
    """Yield the fields of a model; a field that holds a model is followed by the fields of that model."""
    for name, field in model.model_fields.items():
        if (prefix and name == "kind") or name in but:
            continue
        default = "required" if field.is_required() else _shown(field.get_default(call_default_factory=True))
        yield f"`{prefix}{name}`", default, field.description or ""
        for inner in _models_in(field.annotation):
            meaning = (inspect.getdoc(inner) or "").partition("\n")[0]
            if (
                kinds := get_args(inner.model_fields["kind"].annotation)
                if "kind" in inner.model_fields
                else ()
            ):
                yield f"`{prefix}{name}: {{kind: {' or '.join(kinds)}}}`", "", meaning
            yield from _fields_of(inner, f"{prefix}{name}.")


def _models_in(annotation: Any) -> Iterator[type[Config]]:
    if inspect.isclass(annotation) and issubclass(annotation, Config):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _shown(default: Any) -> str:
    if isinstance(default, Config):
        return f"`{{kind: {kind}}}`" if (kind := getattr(default, "kind", None)) else "as below"
    return f"`{default}`" if default not in (None, "", (), {}) else ""


REFERENCE: dict[str, Callable[[], str]] = {
    "compositions": _compositions,
    "victim rules": _victim_rules,
    "placements": _sections("placement"),
    "idle rules": _sections("idle"),
    "allocations": _sections("allocation"),
    "levelling rules": _sections("levelling"),
    "merge rules": _sections("merge"),
    "midas": _definition("midas"),
    "features": _features,
    "preconditioning": _meanings("kind", PRECONDITIONING, "writes"),
    "standings columns": _meanings("column", MEANINGS),
    "verdicts": _meanings("verdict", VERDICTS),
    "environments": overview,
    "environment sections": sections,
    "all environments": shared,
    "tasks": papers,
    "scripts": _scripts,
    "suites": _suites,
    "feature kinds": _feature_kinds,
    "feature records": feature_records,
    "rule calls": calls,
    "rule records": rule_records,
    "rule helpers": helpers,
    "trace columns": _trace_columns,
    "trace formats": _trace_formats,
    "reward terms": _reward_terms,
    "metrics": lambda: (inspect.getdoc(metrics_of) or "").partition("\n\n")[2],
    "counters": _counters,
    "subpage metrics": _family_metrics(SubpageFamily),
    "block metrics": _family_metrics(BlockFamily),
    "lifetime metrics": _said_by(lifetime_metrics),
    "transforms": _kinds(TransformConfig, "transform", with_fields=True),
    "claims": _kinds(AnyClaim, "claim", with_fields=False),
    "claim functions": _claim_functions,
    "commands": _commands,
    "device fields": _fields(DeviceConfig, "ftl"),
    "page fields": _fields(PageFtl, "victim"),
    "subpage fields": _fields(SubpageFtl),
    "block fields": _fields(BlockFtl),
    "pace fields": _fields(PacedConfig),
    "workload fields": _workload_fields,
    "experiment fields": _fields(ExperimentConfig),
    "suite fields": _fields(SuiteConfig),
    "training fields": _fields(TrainConfig),
    "evolution fields": _fields(EvolutionConfig),
    "sweep fields": _fields(SweepConfig),
}


def main() -> None:
    """Write the pages that differ from the code, and print their names."""
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        if (text := written(page)) != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
