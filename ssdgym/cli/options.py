"""Arguments and options of all commands, and functions that parse the texts of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.models import OptionInfo

from ssdgym.config.fields import LAST_SEED, overlapping, read_seeds
from ssdgym.errors import SsdgymError

#: Type of options that may be repeated.
Texts = list[str] | None
Argument, Option = typer.Argument, typer.Option
Command = TypeVar("Command", bound=Callable[..., Any])


def parse_seeds(text: str) -> tuple[int, ...]:
    """Parse seeds: `5`, `1,2,9`, or the range `100-109`, which includes both ends."""
    try:
        return tuple(read_seeds(text))
    except ValueError as error:
        raise SsdgymError(f"--seeds {text!r}: {error}") from None


#: Arguments and options by name of the parameter of a command. A name means the same in every command.
OPTIONS: dict[str, Any] = {
    # What is run.
    "experiment": Argument(help="Name of an experiment in configs/experiments, or a YAML file."),
    "suite": Argument(help="Suites by name in configs/suites, or YAML files. Default: wa, memory, latency."),
    "paper": Argument(help="Name of the paper, for example speedupgc."),
    "config": Argument(help="Name in configs/training, or YAML file. Default: ppo-demo; resumed: the run's."),
    "sweep": Argument(help="Name of a sweep in configs/sweeps, or a YAML file."),
    "results": Argument(help="Folder that a command wrote results to, or one of its files (.parquet, .csv)."),
    "source": Argument(help="Trace files (comma-separated), a folder, trace:NAME, synthetic:NAME, or YAML."),
    "shown_agent": Argument(help="Name of an agent of the zoo, or path of its file.", metavar="AGENT"),
    "played": Argument(help="Id of the environment.", metavar="ENVIRONMENT"),
    "dataset_id": Argument(help="Minari id of the data set, group/name-v0.", metavar="ID"),
    "new_file": Argument(help="File to write; compressed if .gz, .bz2, .xz or .zst.", metavar="OUT"),
    # Devices, policies and agents.
    "device": Option("--device", "-d", help="Name of a device, or path of its YAML file."),
    "vary": Option(metavar="FIELD=VALUE,...", help="Field of the devices and its values."),
    "ftl": Option(metavar="KEY=VALUE", help="FTL option such as gc.free_blocks=8."),
    "ftls": Option(metavar="KEY=VALUE,...", help="Options of one of several FTLs, as in --ftl."),
    "timing": Option(help="none: only count operations; event: simulate time."),
    "queue_depth": Option(min=0, help="Outstanding requests; 0: by arrival times. Without times: 32."),
    "size_to_trace": Option(help="Size the device to the pages that a compact trace touches."),
    "policy": Option(
        "--policy",
        "-p",
        help="Victim rule, optionally with a placement (gsm+hotness_groups); speedupgc; for devices of "
        "mapping block a merge rule; or your own rule (module:rule).",
    ),
    "agent": Option(
        "--agent",
        "-a",
        help="File of a trained agent, a name of the zoo, module:callable, a zip of Stable-Baselines3, or"
        " random_action.",
    ),
    "environment": Option(help="Environment of agents that record none. Default: ssdgym/EraseVictim-v0."),
    "env_arg": Option(metavar="KEY=VALUE", help="Argument of the environment, such as candidates=8."),
    "proposer": Option("--policy", "-p", help="Proposer of the environment whose choices are played."),
    "trust": Option("--trust", help="Execute code that comes with agents: modules and pickled objects."),
    # Workloads.
    "workload": Option("--workload", "-w", help="Name of a workload, YAML file, or trace file."),
    "fields": Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Field of the workload, such as read_fraction=0.3; of a trace such as loops=5, window=[0,0.7],"
        " start=random, addresses=fold, volumes=overlay, format=msr, skip_bad=3.",
    ),
    "columns": Option(help='Columns of an unknown trace format: "time:ms disk offset:B size:B op:1=read".'),
    "transform": Option(
        metavar="KIND(FIELD=VALUE)",
        help="Changes of a trace, in order: head(requests=N), only(ops=write), volumes(keep=NAME), "
        "scale_time(factor=X), scale_space(factor=N), align(unit_bytes=N).",
    ),
    # Lengths and seeds.
    "host_pages": Option(min=1, help="Host pages per run, without warm-up."),
    "warmup": Option(min=0, help="Unmeasured host pages at the start of a run."),
    "days": Option(min=1, max=36_500, help="Days of ageing after warm-up, on devices of mapping subpage."),
    "preconditioning": Option(
        help="Before measuring: none, fill (every page once; fill(share=0.5): half of them), uniform or"
        " workload (until GC is steady), reads, until_gc, until_gc_greedy, reads_until_gc_greedy."
    ),
    "seed": Option(min=0, max=LAST_SEED, help="Seed of the workload and of all random choices."),
    "seeds": Option(parser=parse_seeds, metavar="SEEDS", help="One seed (5), several (1,2,9), or 100-109."),
    "split": Option("--split", "-s", help="Split of the suite: training, validation or test. Default: test."),
    # Figures of papers.
    "figure": Option(help="Only the figure of this number, or one of its panels."),
    "every": Option("--all", help="Also run the figures that go beyond the paper."),
    "scale": Option(help="Scale of the experiment."),
    "traces": Option(help="Folder of real traces, played in place of synthetic ones of the same name."),
    "volumes": Option(help="Volumes of real traces: one after the other (default), or all from address 0."),
    "only": Option("--workload", "-w", help="Trace of the paper to play. Default: all."),
    "bar_policy": Option("--policy", help="Additional bar: the paper's design with this policy."),
    "bar_agent": Option("--agent", help="Additional bar: the paper's design with decisions of this agent."),
    "learned": Option(help="Additional bars: the found rule and learned agents of the paper's suite."),
    # Training, agents and data sets.
    "decisions": Option(min=1, help="Number of decisions. Default: as configured, or a whole episode."),
    "train_seed": Option("--seed", min=0, max=2**32 - 1, help="Seed. Default: as configured."),
    "settings": Option("--set", metavar="FIELD=VALUE", help="Configuration field, such as generations=8."),
    "go_on": Option("--resume", help="Resume from the checkpoint in --out; not for evolution."),
    "ppo": Option(help="Train PPO, which requires ssdgym[agents]."),
    "name": Option(help="Prefix of the function names in the header."),
    "episodes": Option(min=1, help="Number of episodes in the data set."),
    "reference_episodes": Option(min=1, help="Episodes per reference score, with other seeds."),
    # What is repeated and reported.
    "row": Option(min=1, help="Number of the result to repeat; the first is 1."),
    "where": Option(metavar="COLUMN=VALUE,...", help="Values that select the result to repeat."),
    "sample": Option(min=1, help="Number of results to draw at random. Default: 10."),
    "figures": Option(help="Folder for all figures (PNG, SVG, PDF) and tables (Markdown, LaTeX)."),
    "plot": Option(metavar="FILE.png", help="Plot addresses, sizes, gaps between arrivals, and skew."),
    # How, and where to.
    "size": Option(help="full: the whole sweep; smoke: a trial run of a few minutes."),
    "resume": Option(help="Resume the sweep in this folder; finished trials are not repeated."),
    "workers": Option(min=1, help="Number of processes. Default: 2."),
    "address": Option(help="Run on Ray: local, or the address of a cluster (auto: the running one)."),
    "out": Option("--out", "-o", help="Folder for the results; created if missing."),
    "out_file": Option("--out", "-o", help="File to write."),
    "to": Option(metavar="FORMAT", help="Format of the new file."),
    "round_times": Option("--round-times", help="Round times down to the clock of the new format."),
    "overwrite": Option("--overwrite", help="Replace an existing file or run."),
    "compiles": Option("--compile", help="Compile the engine and the environments for this version first."),
}


def command(function: Command) -> Command:
    """Add to each parameter of a command its option in `OPTIONS`; one of type `Texts` may be repeated."""
    hints = get_type_hints(function, include_extras=True)
    for name in hints.keys() & OPTIONS.keys():
        info = copy(OPTIONS[name])
        if hints[name] == Texts and isinstance(info, OptionInfo):
            info.help = f"{info.help} Repeat for more."
        hints[name] = Annotated[hints[name], info]
    function.__annotations__ = hints
    text, heading, examples = (function.__doc__ or "").partition("Examples:")
    function.__doc__ = text + heading + examples.replace("\n", "\n\n")  # or Typer would join lines
    return function


def parse_pairs(option: str, texts: Iterable[str] | None) -> dict[str, Any]:
    """Parse texts `NAME=VALUE` of `option`, such as `--ftl`; return the values by name. A value is YAML.

    Raises:
        SsdgymError: a text is not `NAME=VALUE`, or two texts set the same field or a part of it.
    """
    from ssdgym.config.loading import parse_value

    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise SsdgymError(f"{option} {text!r}: write it as NAME=VALUE")
        if (other := overlapping(name, found)) is not None:
            raise SsdgymError(f"{option} {text!r}: {other} is set already; give one of the two")
        found[name] = parse_value(value, f"{option} {text!r}")
        if option == "--ftl" and isinstance(found[name], list | dict):
            raise SsdgymError(f"--ftl {text!r}: its value must be a number or a word")
    return found


def chosen_workload(source: str, fields: Texts, columns: str | None, transforms: Texts = None) -> Any:
    """Return the workload `source`, with fields set by `--set` and `--columns`, and transforms appended.

    Raises:
        SsdgymError: there is no such workload, or it has no such field.
    """
    from ssdgym.config.fields import with_changes
    from ssdgym.workloads.stream import load_workload
    from ssdgym.workloads.traces.transforms import parse_transform

    model: Any = load_workload(source)
    changes = parse_pairs("--set", fields) | ({} if columns is None else {"columns": columns})
    if (columns or transforms) and "transforms" not in type(model).model_fields:
        raise SsdgymError(f"{source} is not a trace; leave --columns and --transform out")
    if transforms:
        changes["transforms"] = [*model.transforms, *map(parse_transform, transforms)]
    return load_workload(with_changes(model.model_dump(), changes)) if changes else model


def environment_fields(name: str | None, arguments: Texts) -> dict[str, Any]:
    """Return the fields of `EnvironmentConfig` that `--environment` and `--env-arg` set."""
    from ssdgym.agents.playing.agents import read_parameters

    kwargs = read_parameters("--env-arg", arguments or ())
    return {**({} if name is None else {"id": name}), **({"kwargs": kwargs} if kwargs else {})}
