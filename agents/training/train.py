"""Train an agent: checkpoints, evaluation on held-out seeds, resume, TensorBoard, a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from rich.progress import Progress
from stable_baselines3.common.logger import Logger, configure

from ssdgym.agents.agent import Agent
from ssdgym.agents.card import AgentCard
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks import CandidateScorer, network_of, torch_threads
from ssdgym.agents.training.checkpoint import FILE_NAME, Checkpoint
from ssdgym.agents.training.cloning import clone
from ssdgym.agents.training.cmaes import CmaesLearner
from ssdgym.agents.training.config import TrainConfig, make_environment, thread_arguments
from ssdgym.agents.training.ppo import Ppo
from ssdgym.agents.training.stages import Enough, Segments, Stage, Stages
from ssdgym.agents.training.validation import BEST_AGENT, Validations, evaluation_line, training_bar, validate
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.envs.sources import named_workloads
from ssdgym.errors import SsdgymError
from ssdgym.files import writable_folder


class Learner(Protocol):
    """An algorithm with its network, between two segments of a run."""

    @property
    def decisions(self) -> int:
        """Number of decisions learned from so far, over all environments."""

    @property
    def scorer(self) -> CandidateScorer:
        """The network that chooses."""

    def set_logger(self, logger: Logger) -> None:
        """Log training to a logger."""

    def state(self) -> dict[str, Any]:
        """Return all that a resumed run needs, as tensors and numbers."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned for the same configuration."""

    def learn(self, segments: Segments) -> None:
        """Learn until the decisions of the run have been taken.

        Every segment begins new episodes and seeds every generator again (`segment_seed`). `Enough` ends the
        run.
        """


def make_learner(config: TrainConfig, env: SB3VecEnv, features: FeatureNames) -> Learner:
    """Make the untrained learner of a run, with all weights drawn from its seed."""
    learner = CmaesLearner if config.algorithm == "cmaes" else Ppo
    return learner(config, env.vector_env, features)


@contextmanager
def environments_of(config: TrainConfig) -> Iterator[tuple[SB3VecEnv, list[SB3VecEnv]]]:
    """Yield environments to learn in, and batches of them to evaluate in, closed at the end of the block."""
    evaluation = config.evaluation
    played = [{"workload": workload} for workload in named_workloads(evaluation.workloads)] or [{}]
    kwargs = thread_arguments(config.environment.id, config.threads) | config.environment.kwargs
    environment = config.environment.model_copy(update={"kwargs": kwargs})
    with ExitStack() as stack:
        env = stack.enter_context(closing(make_environment(environment, config.n_envs)))
        batches = []
        for one in played:
            arguments = {**evaluation.kwargs, **one}
            batch = make_environment(environment, evaluation.episodes, **arguments)
            batches.append(stack.enter_context(closing(batch)))
        yield env, batches


def train(
    config: TrainConfig,
    out: Path,
    resume: Path | None = None,
    progress: bool = True,
    overwrite: bool = False,
    report: Callable[[TrainingRun], None] | None = None,
    checkpoints: int | None = None,
    about: Mapping[str, str] | None = None,
) -> Path:
    """Train an agent and return the file of the best one.

    `out` receives `agent.zip`, the best on the validation seeds; `agent-last.zip`, `checkpoint.pt`,
    `evaluations.csv` and `tensorboard/`. The untrained start is also a candidate for the best: the agent's
    card and the last line of the progress then say that nothing was learned (`AgentCard.how_trained`).

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
        checkpoints: end after this many checkpoints behind the first, to be resumed later; None: never.
        about: what the card says besides, such as the suite that tasks are from; fields of `AgentCard`.

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
    with (
        torch_threads(config.threads),
        environments_of(config) as (env, batches),
        training_bar(progress) as bar,
    ):
        run = TrainingRun(config, out, env, batches, checkpoint, report, checkpoints, about or {})
        run.learn(bar)
    return out / BEST_AGENT


class TrainingRun:
    """One run between two checkpoints and the next."""

    def __init__(
        self,
        config: TrainConfig,
        out: Path,
        env: SB3VecEnv,
        batches: Sequence[SB3VecEnv],
        checkpoint: Checkpoint | None,
        report: Callable[[TrainingRun], None] | None,
        checkpoints: int | None,
        about: Mapping[str, str],
    ) -> None:
        self.config, self.out, self.env, self.batches = config, out, env, batches
        self.report, self.checkpoints, self.written = report, checkpoints, 0
        features = FeatureNames.of(env.vector_env)
        self.learner = make_learner(config, env, features)
        self.card = AgentCard(
            environment=config.environment.id,
            candidate_features=features.candidates,
            context_features=features.context,
            scorer=config.scorer,
            training=config.model_dump(mode="json"),
            **about,
        )
        if checkpoint:
            self.learner.restore(checkpoint.algorithm)
            self.stages = Stages([Stage(**stage) for stage in checkpoint.stages])
            best = Agent(
                network_of(self.card), self.card.trained([Stage(**stage) for stage in checkpoint.best_stages])
            )
            best.scorer.load_state_dict(checkpoint.best)
            self.validations = Validations(out, rows=checkpoint.evaluations, best=best)
        else:
            self.stages, self.validations = Stages(), Validations(out)
        self.logger = configure(str(out / "tensorboard"), ["tensorboard"])
        self.learner.set_logger(self.logger)

    @property
    def decisions(self) -> int:
        """Number of decisions taken so far, over all environments, those of a clone included."""
        return self.stages.decisions

    @property
    def share(self) -> float:
        """How much of `config.total_decisions` has been done; above 1 where the last update went beyond."""
        return self.learner.decisions / self.config.total_decisions

    @property
    def best_decisions(self) -> int:
        """Number of decisions that the best agent so far had taken; 0 where it is the untrained start."""
        return int(self.validations.best_row["decisions"])

    @property
    def agent(self) -> Agent:
        """The agent as it is now, with the network that goes on learning."""
        return Agent(self.learner.scorer, self.card.trained(self.stages.taken))

    def learn(self, bar: Progress) -> None:
        """Run until `config.total_decisions` have been taken, and save."""
        self._print = bar.console.print if not bar.disable else lambda text: None
        rows = self.validations.rows
        if not rows:
            self.evaluate("untrained")
            with self.stages.running("clone"):
                self._clone(bar)
        with self.stages.running(self.config.algorithm):
            self._learn(bar)
        self.logger.close()
        best = Agent.load(self.out / BEST_AGENT).card
        self._print(
            f"{self.out / BEST_AGENT}: best of {len(rows)} validations; trained by {best.how_trained}"
        )

    def _learn(self, bar: Progress) -> None:
        """Learn by gradients."""
        self.save()
        name = f"{self.config.algorithm.upper()} (decisions)"
        total, rows = self.config.total_decisions, self.validations.rows
        task = bar.add_task(name, total=total, completed=self.learner.decisions)
        segments = Segments(
            self.config.checkpoint_decisions,
            self._at_checkpoint,
            lambda decisions: bar.update(task, completed=min(decisions, total)),
        )
        try:
            self.learner.learn(segments)
        except Enough:
            return
        self.count()
        if rows[-1]["decisions"] < self.decisions:
            self.evaluate(self.config.algorithm)
            self.save()

    def _at_checkpoint(self) -> None:
        self.count()
        self.evaluate(self.config.algorithm)
        self.save()
        self.written += 1
        if self.written == self.checkpoints:
            raise Enough

    def count(self) -> None:
        """Count the decisions that gradients have been learned from."""
        self.stages.count(self.config.algorithm, self.learner.decisions)

    def _clone(self, bar: Progress) -> None:
        """Clone a named policy first, if so configured."""
        prior = self.config.prior
        if prior.policy is None:
            return
        task = bar.add_task(f"cloning {prior.policy} (decisions)", total=prior.clone_decisions)
        decisions, agreement = clone(
            self.learner.scorer,
            self.env.vector_env,
            prior,
            self.config.seed,
            report=lambda done: bar.update(task, completed=min(done, prior.clone_decisions)),
        )
        self._print(f"chooses what {prior.policy} does in {100 * agreement:.1f} % of its decisions")
        self.stages.count("clone", decisions)
        self.evaluate("clone")

    def evaluate(self, stage: str) -> None:
        """Play the validation episodes, and keep the agent if it is the best so far."""
        evaluation = self.config.evaluation
        measured = validate(self.agent, self.batches, evaluation.first_seed, evaluation.metric)
        row = {"stage": stage, "decisions": self.decisions, **measured}
        is_best = self.validations.add(row, self.agent)
        for name, value in measured.items():
            self.logger.record(f"validation/{name}", value)
        self.logger.dump(self.decisions)
        self._print(evaluation_line(row, is_best))

    def save(self) -> None:
        """Write the best agent, the last one, the table of validations, then the checkpoint, and report."""
        self.validations.save(self.agent)
        best = self.validations.best
        assert best is not None, "it has been saved"
        stages, best_stages = (
            [stage.model_dump() for stage in some] for some in (self.stages.taken, best.card.trained_by)
        )
        Checkpoint(
            self.config.model_dump_json(),
            self.learner.state(),
            self.validations.rows,
            best.scorer.state_dict(),
            stages,
            best_stages,
        ).save(self.out)
        if self.report:
            self.report(self)
