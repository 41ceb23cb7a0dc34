"""Evolution: search the weights of a compiled agent by CMA-ES; whole runs in the engine score them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cmaes import CMA
from rich.progress import Progress
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ssdgym.agents.agent import Agent
from ssdgym.agents.card import WITHOUT_EFFECT, AgentCard, InputConfig
from ssdgym.agents.networks import CandidateScorer, OrdinalNetwork, network_of
from ssdgym.agents.rules import register_recorder, register_trainable
from ssdgym.agents.training.config import AGENT, EvolutionConfig, LifetimesConfig
from ssdgym.agents.training.lifetimes import Lifetimes, fit_lifetimes, record_lifetimes
from ssdgym.agents.training.stages import Stages
from ssdgym.agents.training.tasks import WHERE, Play, Score, Task
from ssdgym.agents.training.validation import Row, Validations
from ssdgym.errors import SsdgymError
from ssdgym.simulator.future import BEYOND


class WeightVectors:
    """Converts vectors of searched weights to networks.

    Args:
        card: card of the agent.
        inputs: scaling and initial weights of each feature, by name.
        fixed: names of weights that are not searched.
        seed: seed of the initial weights of hidden layers.
    """

    def __init__(
        self, card: AgentCard, inputs: Mapping[str, InputConfig], fixed: Sequence[str], seed: int
    ) -> None:
        self.card = card
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = network_of(card)
        _begin(self.network, card, inputs)
        named = dict(self.network.named_parameters())
        for name in fixed:
            if name not in named:
                raise SsdgymError(f"{WHERE}: fixed: {name} is no weight; there are {', '.join(named)}.")
        self._searched = [name for name in named if not name.startswith(WITHOUT_EFFECT) and name not in fixed]
        if not self._searched:
            raise SsdgymError(f"{WHERE}: fixed: names all weights; leave one to search.")

    @property
    def start(self) -> np.ndarray:
        """The vector of the initial weights, float64."""
        searched = map(self.network.get_parameter, self._searched)
        return parameters_to_vector(searched).detach().numpy().astype(float)

    def weights(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """Return all weights by name; `vector`, as long as `start`, has the searched ones."""
        return {name: part.numpy() for name, part in self.network_with(vector).state_dict().items()}

    def network_with(self, vector: np.ndarray) -> nn.Module:
        """Return a new network, whose searched weights are those of `vector`, as long as `start`."""
        network = copy.deepcopy(self.network)
        searched = map(network.get_parameter, self._searched)
        vector_to_parameters(torch.tensor(vector, dtype=torch.float32), searched)
        return network


def _begin(network: nn.Module, card: AgentCard, inputs: Mapping[str, InputConfig]) -> None:
    """Set scaling and initial weights of the features from `inputs`."""
    if isinstance(network, OrdinalNetwork):
        context = [inputs[name] for name in card.context_features]
        network.centre.copy_(torch.tensor([one.centre for one in context]))
        network.scale.copy_(torch.tensor([1.0 / one.spread for one in context]))
        network.weights.data.copy_(_starts(context, network.config.heads))
    elif isinstance(network, CandidateScorer):
        candidates = [inputs[name] for name in card.candidate_features]
        if any(one.start for one in candidates):
            network.linear.weights.data.copy_(_starts(candidates, 1)[0])
            network.linear.log_sharpness.data.zero_()


def _starts(inputs: Sequence[InputConfig], heads: int) -> torch.Tensor:
    """Return the initial weights of the linear part, (heads, features)."""
    return torch.tensor([one.start or (0.0,) * heads for one in inputs]).T.contiguous()


def begin_with_lifetimes(
    members: WeightVectors, config: EvolutionConfig, given: LifetimesConfig, plays: Sequence[Play]
) -> tuple[float, int]:
    """Fit the network to lifetimes in the runs `plays`; return the explained share of variance, and pages."""
    name, recorder = register_recorder(members.card, members.weights(members.start))
    rng = np.random.default_rng([config.seed, 0x11FE])
    parts: list[Lifetimes] = []
    for play in plays:
        simulator = play.simulator(config.policy.replace(AGENT, name), cache=False)
        beyond = BEYOND * simulator.logical_pages
        requests = play.requests(play.warmup + play.host_pages + beyond)
        pages = record_lifetimes(simulator, recorder, requests, play.host_pages, play.warmup)
        parts.append(pages.sample(given.pages, rng))
    assert isinstance(members.network, OrdinalNetwork), "what places pages is one"
    joined = Lifetimes.joined(parts)
    explained = fit_lifetimes(members.network, joined, given.epochs, given.learning_rate, config.seed)
    return explained, len(joined.lives)


def mean_fitness(scores: Sequence[float] | np.ndarray, above: float, weight: float) -> float:
    """Return the mean of `r + weight * max(r - above, 0)` over the scores `r` of the tasks."""
    found = np.asarray(scores, np.float64)
    return float((found + weight * np.maximum(found - above, 0.0)).mean())


@dataclass(frozen=True)
class Tasks:
    """The runs and the metric that determine fitness.

    Attributes:
        training: the runs of each training workload.
        validation: the runs that decide which weights are kept.
        baseline: policy with which every run is compared.
        metric: name of the metric to minimise.
    """

    training: Sequence[Sequence[Play]]
    validation: Sequence[Play]
    baseline: str
    metric: str


class Evolution:
    """One evolution.

    The files in `out` are `agent.zip`, the agent that was best on the validation tasks (possibly the initial
    one), `agent-last.zip` and `evaluations.csv`. They are equal, bit for bit, for the same configuration,
    versions and machine type, except for CPU times.

    The columns of the CSV file are `generation`, `pages` (written by all training runs), `cpu_seconds` of the
    process, `fitness` (mean of the last generation) and `validation` (fitness of the search's mean on the
    validation tasks). `change` and `worst` are the mean and the largest relative change of the metric from
    the baseline on these tasks, and `cap` is the mean change of `config.cap`.
    """

    def __init__(
        self, config: EvolutionConfig, tasks: Tasks, out: Path, about: Mapping[str, str], bar: Progress
    ) -> None:
        self.config, self.about, self.bar = config, about, bar
        self.members = WeightVectors(config.card(), config.inputs, config.fixed, config.seed)
        self.stages = Stages()
        self.validations = Validations(out, lambda row: -float(row["validation"]))
        self.explained: dict[str, float] = {}
        with self.stages.running("lifetimes"):
            if config.lifetimes:
                plays = [play for some in tasks.training for play in some]
                explained, pages = begin_with_lifetimes(self.members, config, config.lifetimes, plays)
                self.explained = {"lifetimes_explained": round(explained, 5)}
                self.stages.count("lifetimes", pages)
        with self.stages.running("evolution"):
            name, self.network = register_trainable(
                self.members.card, self.members.weights(self.members.start)
            )
            policy = config.policy.replace(AGENT, name)

            def task(play: Play) -> Task:
                return Task(play, policy, tasks.baseline, tasks.metric, config.cap)

            self.tasks = [[task(play) for play in some] for some in tasks.training]
            self.validation = [task(play) for play in tasks.validation]
        self.rng = np.random.default_rng([config.seed, 0xE5])
        self.pages = 0

    def run(self) -> None:
        """Search for the configured number of generations; validate and save regularly."""
        config = self.config
        search = CMA(
            mean=self.members.start, sigma=config.spread, seed=config.seed, population_size=config.members
        )
        shown = self.bar.add_task("evolution (generations)", total=config.generations)
        for share in self.explained.values():
            self._print(f"lifetimes: {share:.0%} of their variance is explained")
        with self.stages.running("evolution"):
            self.evaluate(0, search.mean, 0.0)
            for generation in range(1, config.generations + 1):
                chosen = self._draw()
                vectors = [search.ask() for _ in range(config.members)]
                scores = [self._scores(vector, chosen) for vector in vectors]
                fitness = [self._judged(some) for some in scores]
                search.tell(list(zip(vectors, fitness, strict=True)))
                self.pages += sum(score.pages for some in scores for score in some)
                self.stages.count("evolution", self.pages)
                self.bar.update(shown, completed=generation)
                if generation % config.validation.every == 0 or generation == config.generations:
                    self.evaluate(generation, search.mean, float(np.mean(fitness)))

    def _draw(self) -> list[Task]:
        """Draw the tasks that score a generation, from as many different workloads as possible."""
        order = [int(i) for i in self.rng.permutation(len(self.tasks)) if self.tasks[i]]
        turns = [order[k % len(order)] for k in range(self.config.tasks.per_generation)]
        return [self.tasks[i][int(self.rng.integers(len(self.tasks[i])))] for i in turns]

    def _judged(self, scores: Sequence[Score]) -> float:
        judged = [score.judged(self.config.cap_weight) for score in scores]
        return mean_fitness(judged, self.config.loss_above, self.config.loss_weight)

    def _scores(self, vector: np.ndarray, tasks: Sequence[Task]) -> list[Score]:
        self.network.replace_weights(self.members.weights(vector))
        return [task.score() for task in tasks]

    def evaluate(self, generation: int, vector: np.ndarray, fitness: float) -> None:
        """Run the validation tasks, keep the weights if they are the best so far, and write all files."""
        scores = self._scores(vector, self.validation)
        changes = np.array([score.metric for score in scores])
        row: Row = {
            "generation": generation,
            "pages": self.pages,
            "cpu_seconds": round(self.stages.cpu_seconds, 1),
            "fitness": round(fitness, 5),
            "validation": round(self._judged(scores), 5),
            "change": _share(changes.mean()),
            "worst": _share(changes.max()),
            "cap": _share(np.mean([score.cap for score in scores])),
        }
        last = Agent(self.members.network_with(vector), self._card(row))
        is_best = self.validations.add(row, last)
        self.validations.save(last)
        self._print(
            f"generation {generation}: training {fitness:+.4f}, validation {row['validation']:+.4f} "
            f"({row['change']:+.1%} on average, {row['worst']:+.1%} at worst)"
            + (" (best so far)" if is_best else "")
        )

    def _card(self, row: Row) -> AgentCard:
        results = {
            "validation_change": row["change"],
            "validation_worst": row["worst"],
            **({"validation_cap": row["cap"]} if self.config.cap else {}),
            **self.explained,
            "generation": float(row["generation"]),
        }
        return self.members.card.trained(self.stages.taken, results=results, **self.about)

    def _print(self, text: str) -> None:
        if not self.bar.disable:
            self.bar.console.print(text)


def _share(logarithm: Any) -> float:
    """Convert the logarithm of a ratio to a relative change, such as 0.05 for 5 % more."""
    return round(float(np.exp(logarithm) - 1), 5)
