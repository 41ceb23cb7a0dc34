"""Train an agent: checkpoints, validation on fixed seeds, resume, TensorBoard, a progress bar."""

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
from ssdgym.agents.training.stages import Stage, Stages
from ssdgym.agents.training.validation import BEST_AGENT, Validations, evaluation_line, training_bar, validate
from ssdgym.envs.sb3 import SB3VecEnv
from ssdgym.envs.sources import named_workloads
from ssdgym.errors import SsdgymError
from ssdgym.files import writable_folder


class Learner(Protocol):
    """A training algorithm.

    Attributes:
        logger: the logger of the training, set before the first step.
        decisions: number of decisions learned from so far, over all environments.
        scorer: the network that chooses actions.
    """

    logger: Logger
    decisions: int
    scorer: CandidateScorer

    def state(self) -> dict[str, Any]:
        """Return everything that a resumed run needs, as tensors and numbers."""

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state that `state` returned for the same configuration."""

    def begin_segment(self) -> None:
        """Begin new episodes and seed every generator (`segment_seed`); called after each checkpoint."""

    def step(self) -> None:
        """Learn from one more rollout or generation."""


@contextmanager
def environments_of(config: TrainConfig) -> Iterator[tuple[SB3VecEnv, list[SB3VecEnv]]]:
    """Yield the training environments, and one batch of validation environments per validation workload."""
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
    about: Mapping[str, str] | None = None,
) -> Path:
    """Train an agent and return the file of the best agent.

    The files in `out` are `agent.zip`, the agent that was best on the validation seeds, `agent-last.zip`,
    `checkpoint.pt`, `evaluations.csv` and `tensorboard/`. If the untrained network was best, `agent.zip`
    contains it; the card (`AgentCard.how_trained`) and the last line of the progress then say so.

    On the CPU, the same configuration, library versions and machine type yield the same weights, bit for bit.
    After every checkpoint, new episodes begin and every generator is seeded from `seed` and the decisions so
    far. So a resumed run, which repeats the work after its last checkpoint, yields the weights of an
    uninterrupted run. The run also seeds torch's global generator.

    Args:
        config: configuration of the run.
        out: folder for the results, created if missing.
        resume: checkpoint, or folder with a checkpoint, from which the run continues.
        progress: whether to show a progress bar with rate and remaining time.
        overwrite: whether a run that is already in `out` may be replaced.
        report: function to call whenever a checkpoint and all other files have been written, for the first
            time before learning from rewards begins.
        about: further fields of `AgentCard`, such as the suite of the tasks.

    Returns:
        Path of the best agent, for `Agent.load`.

    Raises:
        SsdgymError: `out` cannot be written or contains a run, `resume` has no checkpoint or one of another
            configuration, or the environment cannot be made. All are raised before training begins.
    """
    writable_folder(out)
    if resume is None and not overwrite and (out / FILE_NAME).exists():
        raise SsdgymError(f"{out}: already holds a training run; resume, overwrite or take another folder.")
    checkpoint = Checkpoint.load(resume) if resume else None
    if checkpoint and resume:
        checkpoint.require_config(config, resume)
    with (
        torch_threads(config.threads),
        environments_of(config) as (env, batches),
        training_bar(progress) as bar,
    ):
        run = TrainingRun(config, out, env, batches, checkpoint, report, about or {})
        run.learn(bar)
    return out / BEST_AGENT


class TrainingRun:
    """One training run: its learner, stages, validations and files."""

    def __init__(
        self,
        config: TrainConfig,
        out: Path,
        env: SB3VecEnv,
        batches: Sequence[SB3VecEnv],
        checkpoint: Checkpoint | None,
        report: Callable[[TrainingRun], None] | None,
        about: Mapping[str, str],
    ) -> None:
        self.config, self.out, self.env, self.batches = config, out, env, batches
        self.report = report
        features = FeatureNames.of(env.vector_env)
        make = CmaesLearner if config.algorithm == "cmaes" else Ppo
        self.learner: Learner = make(config, env.vector_env, features)
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
        self.learner.logger = self.logger

    @property
    def decisions(self) -> int:
        """Number of decisions so far, over all environments, including those of cloning."""
        return self.stages.decisions

    @property
    def share(self) -> float:
        """Share of `config.total_decisions` learned from so far; the last rollout can raise it above 1."""
        return self.learner.decisions / self.config.total_decisions

    @property
    def best_decisions(self) -> int:
        """Number of decisions that the best agent so far was trained on; 0 if it is untrained."""
        return int(self.validations.best_row["decisions"])

    @property
    def agent(self) -> Agent:
        """The present agent. Its network changes when training continues."""
        return Agent(self.learner.scorer, self.card.trained(self.stages.taken))

    def learn(self, bar: Progress) -> None:
        """Clone and learn until `config.total_decisions`; validate and save regularly."""
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
        """Learn from rewards, by PPO or CMA-ES; validate and save after every segment."""
        self.save()
        learner, algorithm = self.learner, self.config.algorithm
        total, every = self.config.total_decisions, self.config.checkpoint_decisions
        task = bar.add_task(f"{algorithm.upper()} (decisions)", total=total, completed=learner.decisions)
        while learner.decisions < total:
            learner.begin_segment()
            end = min((learner.decisions // every + 1) * every, total)
            while learner.decisions < end:
                learner.step()
                bar.update(task, completed=min(learner.decisions, total))
            self.stages.count(algorithm, learner.decisions)
            self.evaluate(algorithm)
            self.save()

    def _clone(self, bar: Progress) -> None:
        """Clone a policy into the network, if the configuration names one."""
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
        """Play the validation episodes; copy the agent if it is the best so far."""
        evaluation = self.config.evaluation
        measured = validate(self.agent, self.batches, evaluation.first_seed, evaluation.metric)
        row = {"stage": stage, "decisions": self.decisions, **measured}
        is_best = self.validations.add(row, self.agent)
        for name, value in measured.items():
            self.logger.record(f"validation/{name}", value)
        self.logger.dump(self.decisions)
        self._print(evaluation_line(row, is_best))

    def save(self) -> None:
        """Write the best and the last agent, the table of validations and the checkpoint; call `report`."""
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
