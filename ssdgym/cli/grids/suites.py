"""What the commands that run suites share: their options, and the runs of some splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdgym.cli.grids.stored import Runs, finish
from ssdgym.cli.options import parse_seeds
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.experiments.results import Result
    from ssdgym.experiments.runs.config import ExperimentConfig
    from ssdgym.experiments.suites.config import Split, SuiteConfig

SplitOption = Annotated[
    list[str] | None,
    typer.Option("--split", "-s", help="training, validation or test; repeat for more. Default: test."),
]
Seeds = Annotated[str | None, typer.Option(help="Seeds: 5, or 1,2,9, or 100-109.")]
HostPages = Annotated[int | None, typer.Option(min=1, help="Host pages per run.")]
Warmup = Annotated[int | None, typer.Option(min=0, help="Host pages before them, not measured.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes. Default: 2.")]
Address = Annotated[str | None, typer.Option(help="Run as Ray tasks: local, or the address of a cluster.")]


@dataclass(frozen=True)
class SuiteRuns:
    """Runs of some splits of a suite.

    Attributes:
        name: of the suite, or the path of its file.
        config: of the suite.
        splits: whose workloads are run.
        changes: other values of `seeds`, `host_pages` or `warmup`.
    """

    name: str
    config: SuiteConfig
    splits: tuple[Split, ...]
    changes: dict[str, Any]

    @classmethod
    def of(
        cls,
        name: str,
        split: list[str] | None,
        seeds: str | None,
        host_pages: int | None,
        warmup: int | None,
    ) -> SuiteRuns:
        """Read the options of a command.

        Args:
            name: of a suite, or the path of its file.
            split: names of splits; none for `test`.
            seeds: as text; `None` for those of the suite.
            host_pages: likewise.
            warmup: likewise.

        Raises:
            SsdgymError: there is no such suite or split, or the seeds cannot be read.
        """
        from ssdgym.experiments.suites.config import SPLITS, load_suite

        config = load_suite(name)
        for word in split or ():
            if word not in config.splits:
                raise SsdgymError(
                    f"--split {word} is none of the suite's; choose {' or '.join(config.splits)}."
                )
        wanted = tuple(one for one in SPLITS if one in (split or ["test"]))
        if not wanted or any(one not in config.splits for one in wanted):
            raise SsdgymError(f"suite {name} has no split test; choose --split {' or '.join(config.splits)}.")
        given = {
            "seeds": None if seeds is None else parse_seeds(seeds),
            "host_pages": host_pages,
            "warmup": warmup,
        }
        return cls(name, config, wanted, {key: value for key, value in given.items() if value is not None})

    @property
    def title(self) -> str:
        """The name of the suite without folder and ending."""
        return Path(self.name).stem

    def experiment(self, deciders: dict[str, Any] | None = None) -> ExperimentConfig:
        """Return the grid of the runs.

        Args:
            deciders: `policies`, `agents` and their `environment`; by default all that the suite has.
        """
        own = {"policies": (*self.config.policies, *self.config.learned)}
        return self.config.experiment(self.splits, deciders or own, self.changes)

    def carry_out(
        self, experiment: ExperimentConfig, runs: Runs, typed: Sequence[str], *, as_json: bool
    ) -> tuple[list[Result], list[str]]:
        """Run what is not finished yet; where runs fail, report that and leave the command.

        Args:
            experiment: the grid.
            runs: how it is carried out.
            typed: agents and policies that were named on the command line.
            as_json: whether the output is for a machine.

        Returns:
            The results, and the names of those that have learned.

        Raises:
            SsdgymError: a run is wrongly configured.
        """
        found, learned = runs.carry_out(experiment, typed, quiet=as_json)
        if found.failures:
            finish(found, learned, runs.folder, as_json=as_json)
        return found.results, [*learned, *self.config.learned]
