"""Search the weights of an agent: generations of whole runs, and a validation now and then."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from cmaes import CMA
from rich.progress import Progress

from ssdgym.agents.agent import Agent
from ssdgym.agents.compiled.loading import register_trainable
from ssdgym.agents.networks import WeightVectors
from ssdgym.agents.training.progress import training_bar, write_rows
from ssdgym.agents.training.stages import Stage
from ssdgym.agents.training.train import BEST_AGENT, EVALUATIONS, LAST_AGENT
from ssdgym.errors import SsdgymError
from ssdgym.experiments.evolution_tasks import (
    AGENT,
    EvolutionConfig,
    Score,
    Task,
    begin_with_lifetimes,
    mean_fitness,
    training_tasks,
    validation_tasks,
)
from ssdgym.experiments.leaderboard.suites import load_suite, split_digest
from ssdgym.files import writable_folder, write_atomically


@dataclass(frozen=True)
class Evaluation:
    """A validation.

    Attributes:
        generation: after how many.
        pages: that the runs of training have written so far.
        cpu_seconds: of the process so far, validations included.
        fitness: of the members of the last generation on its tasks, the mean.
        validation: fitness of the mean of the search on the validation tasks.
        change: its mean change of the metric against the baseline there, as a share.
        worst: its worst task there, likewise.
        cap: the mean change of the metric that is capped; 0 without one.
    """

    generation: int
    pages: int
    cpu_seconds: float
    fitness: float
    validation: float
    change: float
    worst: float
    cap: float


def evolve(
    config: EvolutionConfig, out: Path, progress: bool = True, overwrite: bool = False, command: str = ""
) -> Path:
    """Search the weights of an agent and return the file of the best one.

    `out` receives `agent.zip`, the best on the validation tasks (the start takes part), `agent-last.zip` and
    `evaluations.csv`. The same configuration, versions and machine type give the same bits.

    Args:
        config: of the evolution.
        out: folder for the results, made where missing.
        progress: whether to show a bar and a line for each validation.
        overwrite: whether an agent that is already in `out` may be replaced.
        command: what makes the agent again, for its card.

    Raises:
        SsdgymError: `out` cannot be written or holds an agent, or the configuration does not fit the suite.
    """
    writable_folder(out)
    if not overwrite and (out / BEST_AGENT).exists():
        raise SsdgymError(f"{out}: already holds an agent; choose another folder, or give --overwrite.")
    with training_bar(progress) as bar:
        Evolution(config, out, command, bar).run()
    return out / BEST_AGENT


class Evolution:
    """One evolution.

    Args:
        config: its configuration.
        out: existing folder for the results.
        command: what makes the agent again.
        bar: to show where it is.
    """

    def __init__(self, config: EvolutionConfig, out: Path, command: str, bar: Progress) -> None:
        self.config, self.out, self.command, self.bar = config, out, command, bar
        self.suite = load_suite(config.suite)
        inputs = {**config.candidates, **config.context}
        self.members = WeightVectors(config.card(), inputs, config.fixed, config.seed)
        self.begun = time.process_time()
        self.fitted = config.lifetimes and begin_with_lifetimes(
            self.members, config, config.lifetimes, self.suite
        )
        name, self.network = register_trainable(self.members.card, self.members.weights(self.members.start))
        policy = config.policy.replace(AGENT, name)
        self.tasks = training_tasks(config, self.suite, policy)
        self.validation = validation_tasks(config, self.suite, policy)
        self.rng = np.random.default_rng([config.seed, 0xE5])
        self.evaluations: list[Evaluation] = []
        self.pages = 0

    def run(self) -> None:
        """Search for so many generations, and save."""
        config = self.config
        search = CMA(
            mean=self.members.start,
            sigma=config.spread,
            seed=config.seed,
            population_size=config.members,
        )
        shown = self.bar.add_task("evolution (generations)", total=config.generations)
        if self.fitted and not self.bar.disable:
            self.bar.console.print(f"lifetimes: {self.fitted.explained:.0%} of their variance is explained")
        self.evaluate(0, search.mean, 0.0)
        for generation in range(1, config.generations + 1):
            chosen = self._draw()
            vectors = [search.ask() for _ in range(config.members)]
            fitness = [self._fitness(vector, chosen) for vector in vectors]
            search.tell(list(zip(vectors, fitness, strict=True)))
            self.bar.update(shown, completed=generation)
            if generation % config.validation.every == 0 or generation == config.generations:
                self.evaluate(generation, search.mean, float(np.mean(fitness)))

    def _draw(self) -> list[Task]:
        """Return the tasks of a generation, of as many workloads as there are tasks if there are so many."""
        order = [int(i) for i in self.rng.permutation(len(self.tasks)) if self.tasks[i]]
        wanted = self.config.tasks.per_generation
        turns = [order[k % len(order)] for k in range(wanted)]
        return [self.tasks[i][int(self.rng.integers(len(self.tasks[i])))] for i in turns]

    def _fitness(self, vector: np.ndarray, tasks: Sequence[Task]) -> float:
        scores = self._scores(vector, tasks)
        self.pages += sum(score.pages for score in scores)
        return self._judged(scores)

    def _judged(self, scores: Sequence[Score]) -> float:
        judged = [score.judged(self.config.cap_weight) for score in scores]
        return mean_fitness(judged, self.config.loss_above, self.config.loss_weight)

    def _scores(self, vector: np.ndarray, tasks: Sequence[Task]) -> list[Score]:
        self.network.replace_weights(self.members.weights(vector))
        return [task.score() for task in tasks]

    def evaluate(self, generation: int, vector: np.ndarray, fitness: float) -> None:
        """Play the validation tasks, keep the weights if they are the best so far, and write all files.

        Args:
            generation: after how many.
            vector: the mean of the search.
            fitness: mean of the last generation.
        """
        scores = self._scores(vector, self.validation)
        judged = self._judged(scores)
        changes = np.array([score.metric for score in scores])
        row = Evaluation(
            generation,
            self.pages,
            round(time.process_time() - self.begun, 1),
            round(fitness, 5),
            round(judged, 5),
            round(float(np.exp(changes.mean()) - 1), 5),
            round(float(np.exp(changes.max()) - 1), 5),
            round(float(np.exp(np.mean([score.cap for score in scores])) - 1), 5),
        )
        self.evaluations.append(row)
        is_best = min(self.evaluations, key=lambda one: one.validation) is row
        if is_best:
            self._save(vector, row, BEST_AGENT)
        self._save(vector, row, LAST_AGENT)
        rows = [asdict(one) for one in self.evaluations]
        write_atomically(self.out / EVALUATIONS, lambda file: write_rows(file, rows))
        if not self.bar.disable:
            self.bar.console.print(
                f"generation {generation}: training {fitness:+.4f}, validation {judged:+.4f} "
                f"({row.change:+.1%} on average, {row.worst:+.1%} at worst)"
                + (" (best so far)" if is_best else "")
            )

    def _save(self, vector: np.ndarray, row: Evaluation, name: str) -> None:
        stages = self._stages(row)
        card = self.members.card.model_copy(
            update={
                "algorithm": stages[-1].method if stages else "none",
                "decisions": sum(stage.decisions for stage in stages),
                "trained_by": stages,
                "training": self.config.model_dump(mode="json"),
                "command": self.command,
                "suite": self.config.suite,
                "split_digest": split_digest(self.suite),
                "results": {
                    "validation_change": row.change,
                    "validation_worst": row.worst,
                    **({"validation_cap": row.cap} if self.config.cap else {}),
                    **({"lifetimes_explained": round(self.fitted.explained, 5)} if self.fitted else {}),
                    "generation": float(row.generation),
                },
            }
        )
        Agent(self.members.network_with(vector), card).save(self.out / name)

    def _stages(self, row: Evaluation) -> tuple[Stage, ...]:
        """Return what has trained the weights up to a validation, in order."""
        before = (self.fitted.stage,) if self.fitted else ()
        if not row.generation:
            return before
        seconds = max(row.cpu_seconds - sum(stage.cpu_seconds for stage in before), 0.0)
        return (*before, Stage(method="evolution", decisions=row.pages, cpu_seconds=round(seconds, 1)))
