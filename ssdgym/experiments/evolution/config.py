"""The models behind `configs/evolutions/*.yaml`."""

from __future__ import annotations

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from ssdgym.agents.card import AgentCard, InputConfig, ScaleConfig, ScorerConfig
from ssdgym.config.loading import Config
from ssdgym.experiments.leaderboard.suites import RangesConfig

#: Stands for the agent in `policy`.
AGENT = "{agent}"


class TasksConfig(RangesConfig):
    """What members are judged by: runs drawn once from the training split and from ranges of devices."""

    count: PositiveInt = Field(48, description="tasks in all, each drawn with a seed of its own")
    per_generation: PositiveInt = Field(10, description="of them, for all members of a generation the same")
    overwrites: PositiveFloat = Field(2.0, description="how often a run writes the logical pages, measured")
    warmup_overwrites: float = Field(2.0, ge=0, description="and before that, not measured")


class ValidationConfig(Config):
    """Runs on the devices and the validation split of the suite, by which the weights to keep are chosen."""

    every: PositiveInt = Field(10, description="generations between them")
    seeds: tuple[NonNegativeInt, ...] = Field((9000,), min_length=1)
    host_pages: PositiveInt | None = Field(None, description="null: those of the suite")
    warmup: NonNegativeInt | None = Field(None, description="null: that of the suite")


class LifetimesConfig(Config):
    """How the network is fitted to lifetimes before the search, by least squares with Adam."""

    pages: PositiveInt = Field(8192, description="drawn of each task")
    epochs: PositiveInt = 8
    learning_rate: PositiveFloat = 3e-3


class EvolutionConfig(Config):
    """One evolution: covariance matrix adaptation (Hansen, Ostermeier, 2001), by the package `cmaes`.

    A member is a weight vector. Its score on a task is `r = ln(metric / metric of the baseline)` on the same
    device, requests and seed; its fitness is the mean of `r + loss_weight * max(r - loss_above, 0)`, and less
    is better.
    """

    description: str = ""
    suite: str = Field(description="name or file of the suite; its test split is not looked at")
    policy: str = Field(description=f"what is run: {AGENT} stands for the agent")
    baseline: str | None = Field(None, description="null: that of the suite")
    environment: str = Field(description="the environment whose decisions the agent takes")
    candidates: dict[str, InputConfig] = Field({}, description="features of candidates")
    context: dict[str, InputConfig] = Field(min_length=1, description="features of the decision")
    scorer: ScorerConfig | None = None
    scale: ScaleConfig | None = None
    lifetimes: LifetimesConfig | None = Field(
        None, description="begin with a placement fitted to lifetimes; {}: as usual; null: with `start`"
    )
    fixed: tuple[str, ...] = Field((), description="weights that are not searched, by name")
    generations: PositiveInt = 60
    members: int = Field(16, ge=4, description="of a generation")
    spread: PositiveFloat = Field(0.3, description="of weights in the first generation")
    loss_above: float = Field(0.02, ge=0)
    loss_weight: float = Field(1.0, ge=0)
    cap: str | None = Field(None, description="a metric that should not be above that of the baseline")
    cap_weight: float = Field(10.0, ge=0, description="what ln(cap / cap of the baseline) adds above 0")
    tasks: TasksConfig = TasksConfig()
    validation: ValidationConfig = ValidationConfig()
    seed: int = Field(0, ge=0, lt=2**32)

    @model_validator(mode="after")
    def _is_whole(self) -> EvolutionConfig:
        if (self.scorer is None) == (self.scale is None):
            raise ValueError("give either scorer or scale, the shape of the network")
        if self.policy.count(AGENT) != 1:
            raise ValueError(f"policy: has to name {AGENT} once, as in cost_benefit+{AGENT}")
        heads = 1 if self.scale is None else self.scale.heads
        for name, one in {**self.candidates, **self.context}.items():
            if len(one.start) not in (0, heads):
                raise ValueError(f"{name}: start has {len(one.start)} weights for {heads} heads")
        for name, one in (self.candidates if self.scale else self.context).items():
            if one != InputConfig():
                raise ValueError(f"{name}: centre, spread and start have no effect here; leave them out")
        return self

    def card(self) -> AgentCard:
        """Return the card of the untrained agent."""
        return AgentCard(
            algorithm="none",
            decisions=0,
            environment=self.environment,
            candidate_features=tuple(self.candidates),
            context_features=tuple(self.context),
            scorer=self.scorer,
            scale=self.scale,
        )
