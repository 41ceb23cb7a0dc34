"""Fit a scale network to lifetimes: its number becomes the expected one, and its cuts share pages out."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from ssdgym.agents.learning.setting import torch_threads
from ssdgym.agents.lifetimes.recording import Lifetimes
from ssdgym.agents.networks.scale import ScaleNetwork
from ssdgym.errors import SsdgymError

_BATCH = 2048
#: Cuts are at least so far apart.
_CLOSEST = 0.05


def fit_lifetimes(
    network: ScaleNetwork, pages: Lifetimes, epochs: int, learning_rate: float, seed: int
) -> float:
    """Fit the numbers of a network to lifetimes, by least squares, and cut them into equal shares.

    Args:
        network: changed in place.
        pages: what it sees, and the lifetimes.
        epochs: passes over the pages.
        learning_rate: of Adam at the start; it falls to 0 along a cosine.
        seed: of the order of the pages.

    Returns:
        The share of the variance of lifetimes that the numbers then explain.

    Raises:
        SsdgymError: a head has placed no page.
    """
    if missing := set(range(network.config.heads)) - set(np.unique(pages.heads).tolist()):
        kind = "relocated" if missing == {1} else "written"
        raise SsdgymError(f"lifetimes: no page is {kind} in the training tasks; give them more overwrites.")
    with torch_threads(1):  # sums in another order have other bits
        return _fit(network, pages, epochs, learning_rate, seed)


def _fit(network: ScaleNetwork, pages: Lifetimes, epochs: int, learning_rate: float, seed: int) -> float:
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
        _cut(network, numbers.numpy(), pages.heads)
        return 1.0 - float(mse_loss(numbers, lives) / lives.var())


def _numbers(network: ScaleNetwork, features: Tensor, heads: Tensor) -> Tensor:
    """Return the number of each page in the head that places it, (P,)."""
    return network.number(features).gather(1, heads[:, None])[:, 0]


def _cut(network: ScaleNetwork, numbers: np.ndarray, heads: np.ndarray) -> None:
    """Put the cuts where they share the pages of each head out evenly."""
    for head, (_, count) in enumerate(network.config.ranges):
        if count < 2:
            continue
        cuts = np.quantile(numbers[heads == head], np.arange(1, count) / count)
        gaps = np.maximum(np.diff(cuts), _CLOSEST)
        network.first_cut[head] = float(cuts[0])
        network.log_gaps[head, : len(gaps)] = torch.from_numpy(np.log(gaps)).float()
