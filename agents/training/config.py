"""Configurations of training runs, and their environments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from ssdgym.agents.card import AgentCard, InputConfig, OrdinalConfig, ScorerConfig
from ssdgym.config.device import DeviceConfig
from ssdgym.config.loading import BasedConfig, Config
from ssdgym.envs.decisions import Options
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.envs.sb3 import SB3VecEnv


class EnvironmentConfig(Config):
    """A registered environment that has a `vector_entry_point`, and its keyword arguments."""

    id: str = "ssdgym/EraseVictim-v0"
    kwargs: dict[str, Any] = {}


def make_environment(config: EnvironmentConfig, n_envs: int, **overrides: Any) -> SB3VecEnv:
    """Make a native vector environment (its `vector_entry_point`) with the interface of Stable-Baselines3.

    Args:
        config: id and keyword arguments of the environment.
        n_envs: number of environments.
        **overrides: keyword arguments that replace those of `config`.

    Raises:
        SsdgymError: the id is unknown, has no native vector environment, or does not take the arguments.
    """
    from ssdgym.envs.sb3 import SB3VecEnv  # needs the packages of the extra `agents`

    kwargs = {**config.kwargs, **overrides}
    check_arguments(config.id, kwargs)
    return SB3VecEnv(
        gym.make_vec(config.id, num_envs=n_envs, vectorization_mode="vector_entry_point", **kwargs)
    )


def thread_arguments(env_id: str, threads: int) -> dict[str, int]:
    """Return `{"threads": threads}` if the environment has such an argument; otherwise an empty mapping."""
    return {"threads": threads} if "threads" in inspect.signature(entry_point_of(env_id)).parameters else {}


def check_arguments(env_id: str, kwargs: dict[str, Any]) -> None:
    """Check that a registered environment has arguments of the given names; values are not checked.

    Raises:
        SsdgymError: the id is unknown, has no native vector environment, or does not take the arguments.
    """
    parameters = inspect.signature(entry_point_of(env_id)).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for name in kwargs:
        if name not in parameters:
            raise SsdgymError(
                f"environment.kwargs.{name}: {env_id} has no such argument; "
                f"it has {', '.join(sorted(set(parameters) - {'num_envs', 'self'}))}."
            )


def default_of(env_id: str, argument: str) -> Any:
    """Return the default of a registered environment's argument, from its registration or its class."""
    check_arguments(env_id, {argument: None})
    if argument in gym.spec(env_id).kwargs:
        return gym.spec(env_id).kwargs[argument]
    return inspect.signature(entry_point_of(env_id)).parameters[argument].default


def check_device(config: EnvironmentConfig, device: DeviceConfig) -> None:
    """Raise if the decision of one of ssdgym's environments never arises on a device."""
    options: type[Options] | None = getattr(entry_point_of(config.id), "options_type", None)
    if options is not None:
        given = {**gym.spec(config.id).kwargs, **config.kwargs}
        own = {name: given[name] for name in options.decision_arguments() if name in given}
        options.of(own).decision().check_asked_on(device)


def decision_arguments(env_id: str) -> tuple[str, ...]:
    """Return the arguments that must be as in training when an agent acts; empty outside ssdgym."""
    options: type[Options] | None = getattr(entry_point_of(env_id), "options_type", None)
    return () if options is None else options.decision_arguments()


def entry_point_of(env_id: str) -> Callable[..., Any]:
    """Return the class of a registered environment's native vector environments."""
    try:
        entry_point = gym.spec(env_id).vector_entry_point
    except gym.error.Error as error:
        raise SsdgymError(f"environment.id: {error} Take one of `ssdgym list environments`.") from error
    if entry_point is None:
        raise SsdgymError(f"environment.id: {env_id!r} has no native vector environment; choose another.")
    return load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point


class PpoConfig(Config):
    """Proximal policy optimisation with invalid actions masked (`ssdgym.agents.training.ppo`).

    The method: Schulman et al., 2017; the masks: Huang, Ontanon, FLAIRS 2022.
    """

    rollout_steps: int = Field(256, ge=2, description="decisions per environment between updates")
    batch_decisions: int = Field(2048, ge=2, description="decisions per gradient step")
    epochs: int = Field(4, ge=1, description="passes over the rollout per update")
    learning_rate: float = Field(1e-3, gt=0, description="initial learning rate; falls linearly to 0")
    gamma: float = Field(
        0.999, ge=0, le=1, description="discount per decision; effects last hundreds of decisions"
    )
    gae_lambda: float = Field(0.99, ge=0, le=1, description="lambda of generalised advantage estimation")
    clip_range: float = Field(0.2, gt=0)
    entropy_coefficient: float = Field(0.0, ge=0)
    value_coefficient: float = Field(0.5, ge=0)
    max_gradient_norm: float = Field(0.5, gt=0)
    target_kl: float | None = Field(None, gt=0, description="an update ends at 1.5 times this KL divergence")
    normalise: Literal["rewards", "returns"] = Field(
        "rewards",
        description="rewards are divided by the standard deviation of rewards or of discounted returns",
    )
    start_kl: float = Field(0.0, ge=0, description="weight of the KL divergence from the initial network")


#: The value of `PriorConfig.policy` for cloning, in each decision, the first proposer that has a pick.
FIRST_PROPOSER = "first_proposer"


class PriorConfig(Config):
    """The policy that a network imitates before it learns from rewards."""

    policy: str | None = Field(
        None,
        description="policy to clone: the name of a proposer of the environment; `first_proposer` for the "
        "first proposer that picks a candidate in a decision; a rule `stump(...)`; or None for no cloning",
    )
    clone_decisions: int = Field(0, ge=0, description="decisions that the clone is fitted to; 0: no cloning")
    clone_learning_rate: float = Field(3e-3, gt=0)
    clone_confidence: float = Field(
        0.7,
        gt=0,
        lt=1,
        description="largest mean probability of the clone's most likely candidate, so that PPO explores",
    )

    @model_validator(mode="after")
    def _policy_is_cloned(self) -> PriorConfig:
        if (self.policy is None) != (self.clone_decisions == 0):
            raise ValueError("prior needs both a policy and clone_decisions, or none of them.")
        return self


class CmaesConfig(Config):
    """CMA-ES over whole episodes (`ssdgym.agents.training.cmaes`)."""

    members: int = Field(16, ge=4, description="weight vectors per generation; must divide n_envs")
    spread: float = Field(0.3, gt=0, description="standard deviation of weights in the first generation")
    network: bool = Field(True, description="true: search all weights; false: only those of the linear score")
    standardised: bool = Field(
        False,
        description="before averaging over episodes, scale each episode's returns to mean 0 and deviation 1 "
        "over the members, so that workloads with large returns count no more than others",
    )


class EvaluationConfig(Config):
    """Validation episodes, on fixed seeds, played without exploration."""

    episodes: int = Field(8, ge=1, description="validation episodes, each in its own environment")
    first_seed: int = Field(1_000_000, ge=0, description="seed of the first episode; the next ones count up")
    kwargs: dict[str, Any] = Field({}, description="arguments that replace those of the training environment")
    workloads: tuple[Any, ...] = Field(
        (), description="workloads, each with `episodes` of its own; (): that of the environment"
    )
    metric: str | None = Field(
        None, description="the best agent has the lowest geometric mean of this metric; null: highest return"
    )

    @model_validator(mode="after")
    def _workloads_are_said_once(self) -> EvaluationConfig:
        if self.workloads and "workload" in self.kwargs:
            raise ValueError("kwargs.workload and workloads are both given; leave one of the two out")
        return self


class TrainConfig(BasedConfig):
    """One training run."""

    folder: ClassVar[str] = "training"
    by_field: ClassVar[tuple[str, ...]] = ("environment", "scorer", "evaluation")
    algorithm: Literal["ppo", "cmaes"] = "ppo"
    environment: EnvironmentConfig = EnvironmentConfig()
    n_envs: int = Field(32, ge=1, description="number of environments, stepped together")
    total_decisions: int = Field(200_000, ge=1, description="sum over environments, rounded up to an update")
    checkpoint_decisions: int = Field(50_000, ge=1, description="decisions from one checkpoint to the next")
    seed: int = Field(0, ge=0, lt=2**32)
    threads: int = Field(1, ge=1, description="threads of torch and of environment steps; affects results")
    scorer: ScorerConfig = ScorerConfig()
    prior: PriorConfig = PriorConfig()
    ppo: PpoConfig = PpoConfig()
    cmaes: CmaesConfig = CmaesConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @model_validator(mode="after")
    def _batch_fits_rollout(self) -> TrainConfig:
        if self.algorithm == "cmaes":
            if self.n_envs % self.cmaes.members:
                raise ValueError(
                    f"n_envs is {self.n_envs}, and cmaes.members is {self.cmaes.members}; make n_envs a "
                    "multiple of them."
                )
            return self
        rollout = self.ppo.rollout_steps * self.n_envs
        if self.ppo.batch_decisions > rollout:
            raise ValueError(
                f"ppo.batch_decisions is {self.ppo.batch_decisions}, but a rollout has only "
                f"ppo.rollout_steps * n_envs = {rollout} decisions; lower it"
            )
        return self


#: The text in `EvolutionConfig.policy` that is replaced by the name of the agent.
AGENT = "{agent}"


class LifetimesConfig(Config):
    """A least-squares fit, with Adam, of the initial network to lifetimes: how long data stays valid."""

    pages: PositiveInt = Field(8192, description="pages drawn from each task")
    epochs: PositiveInt = 8
    learning_rate: PositiveFloat = 3e-3


class TasksConfig(Config):
    """The tasks that determine the fitness of members."""

    count: PositiveInt = Field(48, description="number of tasks, each drawn with its own seed")
    per_generation: PositiveInt = Field(10, description="tasks that each member of a generation runs")
    overwrites: PositiveFloat = Field(2.0, description="measured host writes, in logical capacities")
    warmup_overwrites: float = Field(2.0, ge=0, description="warm-up host writes, in logical capacities")


class ValidationConfig(Config):
    """The validation runs. The weights with the best validation are kept."""

    every: PositiveInt = Field(10, description="generations between validations")
    seeds: tuple[NonNegativeInt, ...] = Field((9000,), min_length=1)
    host_pages: PositiveInt | None = Field(None, description="host pages per run; null: as in the suite")
    warmup: NonNegativeInt | None = Field(None, description="warm-up host pages; null: as in the suite")


class EvolutionConfig(BasedConfig):
    """One evolution: covariance matrix adaptation (Hansen, Ostermeier, 2001) from the package `cmaes`.

    A member is a weight vector. Its score on a task is `r = ln(metric / metric of the baseline)` for the same
    device, requests and seed. If `cap` names another metric, `cap_weight * ln(cap / cap of the baseline)` is
    added to `r` if it is above 0. The member's fitness is the mean of
    `r + loss_weight * max(r - loss_above, 0)` over the tasks; smaller is better.
    """

    folder: ClassVar[str] = "training"
    by_field: ClassVar[tuple[str, ...]] = ("tasks",)
    algorithm: Literal["evolution"] = "evolution"
    description: str = ""
    policy: str = Field(description=f"policy to run; {AGENT} in it stands for the agent")
    environment: str = Field(description="the environment whose decisions the agent takes")
    candidates: dict[str, InputConfig] = Field({}, description="features of candidates")
    context: dict[str, InputConfig] = Field(min_length=1, description="features of the decision")
    scorer: ScorerConfig | None = None
    ordinal: OrdinalConfig | None = None
    lifetimes: LifetimesConfig | None = Field(
        None, description="fit of the initial placement to page lifetimes; {}: with defaults; null: no fit"
    )
    fixed: tuple[str, ...] = Field((), description="names of weights that are not searched")
    generations: PositiveInt = 60
    members: int = Field(16, ge=4, description="members per generation")
    spread: PositiveFloat = Field(0.3, description="standard deviation of weights in the first generation")
    loss_above: float = Field(0.02, ge=0)
    loss_weight: float = Field(1.0, ge=0)
    cap: str | None = Field(None, description="metric that should not exceed the baseline's; null: none")
    cap_weight: float = Field(10.0, ge=0, description="weight of ln(cap / cap of the baseline) above 0")
    tasks: TasksConfig = TasksConfig()
    validation: ValidationConfig = ValidationConfig()
    seed: int = Field(0, ge=0, lt=2**32)

    @model_validator(mode="after")
    def _is_whole(self) -> EvolutionConfig:
        if (self.scorer is None) == (self.ordinal is None):
            raise ValueError("give either scorer or ordinal, the shape of the network")
        if self.policy.count(AGENT) != 1:
            raise ValueError(f"policy: has to name {AGENT} once, as in cost_benefit+{AGENT}")
        heads = 1 if self.ordinal is None else self.ordinal.heads
        for name, one in self.inputs.items():
            if len(one.start) not in (0, heads):
                raise ValueError(f"{name}: start has {len(one.start)} weights for {heads} heads")
        for name, one in (self.candidates if self.ordinal else self.context).items():
            if one != InputConfig():
                raise ValueError(f"{name}: centre, spread and start have no effect here; leave them out")
        return self

    @property
    def inputs(self) -> dict[str, InputConfig]:
        """The scaling and initial weights of each feature, by name."""
        return {**self.candidates, **self.context}

    def card(self) -> AgentCard:
        """Return the card of the untrained agent."""
        return AgentCard(
            environment=self.environment,
            candidate_features=tuple(self.candidates),
            context_features=tuple(self.context),
            scorer=self.scorer,
            ordinal=self.ordinal,
            training=self.model_dump(mode="json"),
        )
