"""Fit an ordinal network to lifetimes: host pages written until a placed page is overwritten or trimmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from ssdgym.agents.networks import OrdinalNetwork, torch_threads
from ssdgym.agents.rules import CompiledNetwork
from ssdgym.agents.scoring import ROOM
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Simulator
from ssdgym.simulator.future import BEYOND, check_order, deaths_after


@dataclass(frozen=True)
class Lifetimes:
    """P placed pages and the lifetimes of their data.

    Attributes:
        features: float32 (P, G), centred and scaled features of the context.
        heads: int64 (P,), number of the network's head that placed each page.
        lives: float32 (P,), log4(10 * host pages until the data dies / logical pages).
    """

    features: np.ndarray
    heads: np.ndarray
    lives: np.ndarray

    def sample(self, count: int, rng: np.random.Generator) -> Lifetimes:
        """Return `count` random pages without repeats; all pages if there are fewer than `count`."""
        kept = rng.permutation(len(self.lives))[:count]
        return Lifetimes(self.features[kept], self.heads[kept], self.lives[kept])

    @staticmethod
    def joined(parts: Sequence[Lifetimes]) -> Lifetimes:
        """Return the pages of all parts, one part after the other."""
        names = ("features", "heads", "lives")
        return Lifetimes(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def record_lifetimes(
    simulator: Simulator, network: CompiledNetwork, requests: np.ndarray, host_pages: int, warmup: int
) -> Lifetimes:
    """Run a device whose placement records features; return the features and lifetimes of the pages.

    Args:
        simulator: the device, before the first request.
        network: network of the device's placement, from `register_recorder`.
        requests: array of REQUEST: warm-up, run, then writes of `BEYOND` times the logical pages.
        host_pages: host pages of the recorded run.
        warmup: host pages before the recorded run.

    Returns:
        The first pages that are placed after the warm-up, at most `ROOM`.
    """
    check_order(simulator.device, "a record of lifetimes")
    (record,) = network.records
    begin = int(simulator.arrays.control["clock"][0, 0])
    chunks = iter([requests])
    record["used"] = ROOM
    if warmup:
        simulator.proceed(chunks, warmup)
    record["used"] = 0
    simulator.proceed(chunks, host_pages)
    used, entries = int(record["used"]), int(record["entries"])
    seen = record["seen"][: used * entries].reshape(used, entries).copy()
    lpn, clock, written = record["lpn"][:used], record["clock"][:used], record["written"][:used] != 0
    deaths = deaths_after([requests], begin, lpn.astype(np.int64), clock, written)
    pages = simulator.logical_pages
    lives = np.clip(deaths - clock, 1, BEYOND * pages)
    return Lifetimes(
        seen, record["head"][:used].astype(np.int64), (np.log2(10.0 * lives / pages) / 2.0).astype(np.float32)
    )


_BATCH = 2048
#: Smallest distance between thresholds.
_CLOSEST = 0.05


@torch_threads(1)  # with more threads, sums are computed in another order
def fit_lifetimes(
    network: OrdinalNetwork, pages: Lifetimes, epochs: int, learning_rate: float, seed: int
) -> float:
    """Fit a network in place to `pages.lives` by least squares; then make a head's actions equally frequent.

    Returns:
        The share of the variance of `lives` that the network explains.

    Raises:
        SsdgymError: no page was placed by one of the heads.
    """
    if missing := set(range(network.config.heads)) - set(np.unique(pages.heads).tolist()):
        kind = "relocated" if missing == {1} else "written"
        raise SsdgymError(f"lifetimes: no page is {kind} in the training tasks; give them more overwrites.")
    generator = torch.Generator().manual_seed(seed)
    features, heads = torch.from_numpy(pages.features), torch.from_numpy(pages.heads)
    lives = torch.from_numpy(pages.lives)
    optimizer = torch.optim.Adam(network.number_weights(), lr=learning_rate)
    steps = epochs * -(-len(lives) // _BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(epochs):
        for rows in torch.randperm(len(lives), generator=generator).split(_BATCH):
            loss = mse_loss(_numbers(network, features[rows], heads[rows]), lives[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        numbers = _numbers(network, features, heads)
        _set_thresholds(network, numbers.numpy(), pages.heads)
        return 1.0 - float(mse_loss(numbers, lives) / lives.var())


def _numbers(network: OrdinalNetwork, features: Tensor, heads: Tensor) -> Tensor:
    """Return the number `z` of each page, (P,), from the head that placed the page."""
    return network.number(features).gather(1, heads[:, None])[:, 0]


def _set_thresholds(network: OrdinalNetwork, numbers: np.ndarray, heads: np.ndarray) -> None:
    """Set the thresholds of each head so that every action has equally many of the head's pages."""
    for head, (_, count) in enumerate(network.config.ranges):
        if count < 2:
            continue
        thresholds = np.quantile(numbers[heads == head], np.arange(1, count) / count)
        gaps = np.maximum(np.diff(thresholds), _CLOSEST)
        network.first_threshold[head] = float(thresholds[0])
        network.log_gaps[head, : len(gaps)] = torch.from_numpy(np.log(gaps)).float()
