"""The start of an evolution of placements: a network fitted to the lifetimes of what it would place."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ssdgym.agents.compiled.loading import let_record
from ssdgym.agents.learning.stages import Stage
from ssdgym.agents.lifetimes.fitting import fit_lifetimes
from ssdgym.agents.lifetimes.recording import Lifetimes, record_lifetimes
from ssdgym.agents.networks.scale import ScaleNetwork
from ssdgym.agents.networks.vectors import WeightVectors
from ssdgym.experiments.evolution.config import AGENT, EvolutionConfig, LifetimesConfig
from ssdgym.experiments.evolution.plays import training_plays
from ssdgym.experiments.suites.config import SuiteConfig
from ssdgym.simulator.future import BEYOND


class FittedStart(NamedTuple):
    """How the start of an evolution was fitted.

    Attributes:
        explained: share of the variance of lifetimes that the network explains on the training tasks.
        stage: what it took; its decisions are the pages that were fitted to.
    """

    explained: float
    stage: Stage


def begin_with_lifetimes(
    members: WeightVectors, config: EvolutionConfig, given: LifetimesConfig, suite: SuiteConfig
) -> FittedStart:
    """Fit the network of an evolution to lifetimes on its training tasks; its first weights place the pages.

    Args:
        members: whose start is replaced.
        config: of the evolution.
        given: how to fit.
        suite: of the evolution.

    Returns:
        What came of it.

    Raises:
        SsdgymError: the agent is no placement.
    """
    begun = time.process_time()
    name, recorder = let_record(members.card, members.weights(members.start))
    rng = np.random.default_rng([config.seed, 0x11FE])
    parts: list[Lifetimes] = []
    for play in [play for plays in training_plays(config, suite) for play in plays]:
        simulator = play.simulator(config.policy.replace(AGENT, name), cache=False)
        beyond = BEYOND * simulator.logical_pages
        requests = play.requests(play.warmup + play.host_pages + beyond)
        pages = record_lifetimes(simulator, recorder, requests, play.host_pages, play.warmup)
        parts.append(pages.sample(given.pages, rng))
    assert isinstance(members.network, ScaleNetwork), "what places pages is one"
    joined = Lifetimes.joined(parts)
    explained = fit_lifetimes(members.network, joined, given.epochs, given.learning_rate, config.seed)
    seconds = round(time.process_time() - begun, 1)
    return FittedStart(explained, Stage(method="lifetimes", decisions=len(joined.lives), cpu_seconds=seconds))
