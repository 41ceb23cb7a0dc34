"""Train an agent: checkpoints, evaluation on held-out seeds, resume, TensorBoard, a progress bar."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import torch
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

from ssdgym.agents.agent import Agent, AgentCard
from ssdgym.agents.algorithms import (
    begin_segment,
    make_algorithm,
    restore_state,
    scorer_of,
    set_linear_weights,
    state_of,
)
from ssdgym.agents.checkpoint import FILE_NAME, Checkpoint
from ssdgym.agents.config import TrainConfig
from ssdgym.agents.cross_entropy import search_weights
from ssdgym.agents.environments import make_environment
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.scorer import CandidateScorer
from ssdgym.agents.validation import Row, validate
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.errors import SsdgymError
from ssdgym.files import writable_folder, write_atomically

BEST_AGENT = "agent.zip"
LAST_AGENT = "agent-last.zip"
EVALUATIONS = "evaluations.csv"


def train(
    config: TrainConfig,
    out: Path,
    resume: Path | None = None,
    progress: bool = True,
    overwrite: bool = False,
    report: Callable[[TrainingRun], None] | None = None,
) -> Path:
    """Train an agent and return the file of the best one.

    `out` receives `agent.zip` (best on the validation seeds, the untrained start included), `agent-last.zip`,
    `checkpoint.pt`, `evaluations.csv` and `tensorboard/`.

    Repeatability: on the CPU, the same configuration, library versions and machine type give the same bits.
    Every checkpoint begins new episodes and seeds every generator from (`seed`, decisions so far); a run that
    was stopped and resumed therefore equals, bit for bit, one that was not. What was done after the last
    checkpoint is done again. The global generators of `random`, numpy and torch are seeded on the way.

    Args:
        config: the run.
        out: folder for the results, made where missing.
        resume: checkpoint, or the folder that holds one, to continue from.
        progress: whether to show a progress bar with rate and remaining time.
        overwrite: whether a run that is already in `out` may be replaced.
        report: called after every checkpoint, the one at the start included, when all files are written. A
            resumed run calls it for the checkpoint that it begins at.

    Returns:
        Path of the best agent, for `Agent.load`.

    Raises:
        SsdgymError: before any work, if `out` cannot be written or holds another run, if there is no
            checkpoint in `resume` or it is of another configuration, or if the environment cannot be made as
            configured.
    """
    writable_folder(out)
    if resume is None and not overwrite and (out / FILE_NAME).exists():
        raise SsdgymError(f"{out}: already holds a training run; resume it or choose another folder.")
    checkpoint = Checkpoint.load(resume) if resume else None
    if checkpoint and resume:
        checkpoint.require_config(config, resume)
    with _threads(config.threads), _environments(config) as (env, validation_env), _bar(progress) as bar:
        run = TrainingRun(config, out, env, validation_env, checkpoint, report)
        run.learn(bar)
    return out / BEST_AGENT


class TrainingRun:
    """One run between two checkpoints and the next.

    Args:
        config: the run.
        out: existing folder for the results.
        env: environments to learn in.
        validation_env: environments to evaluate in.
        checkpoint: where to continue; None begins from scratch.
        report: called after every checkpoint.
    """

    def __init__(
        self,
        config: TrainConfig,
        out: Path,
        env: SB3VecEnv,
        validation_env: SB3VecEnv,
        checkpoint: Checkpoint | None,
        report: Callable[[TrainingRun], None] | None = None,
    ) -> None:
        self.config = config
        self.out = out
        self.env = env
        self.validation_env = validation_env
        self.report = report
        self.features = FeatureNames.of(env.vector_env)
        self.model = make_algorithm(config, env, self.features)
        self.evaluations: list[Row] = []
        self.best: dict[str, torch.Tensor] = {}
        if checkpoint:
            restore_state(self.model, checkpoint.algorithm)
            self.evaluations, self.best = checkpoint.evaluations, checkpoint.best
        self.model.set_logger(configure(str(out / "tensorboard"), ["tensorboard"]))

    @property
    def decisions(self) -> int:
        """Number of decisions taken so far, over all environments."""
        return self.model.num_timesteps

    @property
    def best_decisions(self) -> int:
        """Number of decisions that the best agent so far had taken."""
        return int(self._best_row()["decisions"])

    def learn(self, bar: Progress) -> None:
        """Run until `config.total_decisions` have been taken, and save."""
        if not self.evaluations:
            self.evaluate()
            self._search(bar)
        self.save()
        # the untrained agent's mean, so that it is the same for a resumed run
        self.env.reward_offset = -self.evaluations[0]["reward_mean"]
        begin_segment(self.model, self.config.seed)
        task = bar.add_task("training", total=self.config.total_decisions, completed=self.decisions)
        self.model.learn(
            max(0, self.config.total_decisions - self.decisions),
            callback=_Segments(self, bar, task),
            reset_num_timesteps=False,
        )
        if self.evaluations[-1]["decisions"] < self.decisions:
            self.evaluate()
            self.save()
        self.model.logger.close()

    def _search(self, bar: Progress) -> None:
        """Improve the linear part of the scorer by whole episodes, if so configured."""
        config = self.config.cross_entropy
        if not config.generations:
            return
        task = bar.add_task("searching (generations)", total=config.generations)
        weights = scorer_of(self.model).linear.weights
        found = search_weights(
            self.env,
            weights.detach().cpu().numpy(),
            config,
            self.config.seed,
            report=lambda done: bar.update(task, completed=done),
        )
        set_linear_weights(self.model, found)
        self.evaluate()

    def evaluate(self) -> None:
        """Play the validation episodes, and keep the agent if it is the best so far."""
        agent = self.agent(scorer_of(self.model), self.decisions)
        row = validate(agent, self.validation_env, self.config.evaluation.first_seed)
        self.evaluations.append({"decisions": self.decisions, **row})
        if self._best_row() is self.evaluations[-1]:
            weights = scorer_of(self.model).state_dict()
            self.best = {name: weight.detach().cpu().clone() for name, weight in weights.items()}
        self._log(row)

    def save(self) -> None:
        """Write the best agent, the last one, the table of evaluations, then the checkpoint, and report."""
        best = CandidateScorer(self.features.candidates, self.features.context, self.config.scorer)
        best.load_state_dict(self.best)
        self.agent(best, self.best_decisions).save(self.out / BEST_AGENT)
        self.agent(scorer_of(self.model), self.decisions).save(self.out / LAST_AGENT)
        write_atomically(self.out / EVALUATIONS, lambda file: _write_csv(file, self.evaluations))
        state = state_of(self.model)
        Checkpoint(self.config.model_dump_json(), state, self.evaluations, self.best).save(self.out)
        if self.report:
            self.report(self)

    def agent(self, scorer: CandidateScorer, decisions: int) -> Agent:
        """Make an agent of a network.

        Args:
            scorer: the network.
            decisions: how many it had taken.
        """
        card = AgentCard(
            algorithm=self.config.algorithm,
            environment=self.config.environment.id,
            decisions=decisions,
            candidate_features=self.features.candidates,
            context_features=self.features.context,
            scorer=self.config.scorer,
            training=self.config.model_dump(mode="json"),
        )
        return Agent(scorer, card)

    def _best_row(self) -> Row:
        return max(self.evaluations, key=lambda row: row["return_mean"])  # the earliest of equals

    def _log(self, row: Row) -> None:
        for name, value in row.items():
            self.model.logger.record(f"validation/{name}", value)
        self.model.logger.dump(self.decisions)


class _Segments(BaseCallback):
    """Cuts a run into segments at its checkpoints, and moves the progress bar."""

    def __init__(self, run: TrainingRun, bar: Progress, task: TaskID) -> None:
        super().__init__()
        self.run = run
        self.bar = bar
        self.task = task

    def _on_training_start(self) -> None:
        self._plan()

    def _on_rollout_start(self) -> None:
        # here the update that belongs to the last rollout is done, and the next rollout has not looked yet
        if self.run.decisions >= self.next_checkpoint:
            self.run.evaluate()
            self.run.save()
            begin_segment(self.run.model, self.run.config.seed)
            self._plan()

    def _on_step(self) -> bool:
        self.bar.update(self.task, completed=min(self.run.decisions, self.run.config.total_decisions))
        return True

    def _plan(self) -> None:
        every = self.run.config.checkpoint_decisions
        self.next_checkpoint = (self.run.decisions // every + 1) * every


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _environments(config: TrainConfig) -> Iterator[tuple[SB3VecEnv, SB3VecEnv]]:
    evaluation = config.evaluation
    with (
        closing(make_environment(config.environment, config.n_envs)) as env,
        closing(
            make_environment(config.environment, evaluation.episodes, **evaluation.kwargs)
        ) as validation_env,
    ):
        yield env, validation_env


class _Rate(ProgressColumn):
    """Decisions, or generations, per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s" if speed < 10 else f"{speed:,.0f}/s")


def _bar(visible: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not visible,
    )


def _write_csv(file: IO[bytes], rows: list[Row]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    file.write(text.getvalue().encode())
