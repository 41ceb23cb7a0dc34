"""The search of MiDAS: how many groups there are, and how large each of them is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ssdgym.baselines.midas.model import Hot, Model

#: Most blocks of a hot group whose size is computed, in each plane.
MOST_HOT_BLOCKS = 29
#: A larger hot group has to gain so much at first.
HOT_GAIN = 0.05
#: Most groups besides the hot one.
MOST_GROUPS = 9
#: Rounds in which sizes are changed one at a time; the authors do four of them.
MOST_ROUNDS = 20


@dataclass(frozen=True)
class Configuration:
    """Groups and what the model says of them.

    Attributes:
        hot: the hot group.
        sizes: of G1 .. Gn in blocks, open blocks included; the last one has what the others leave.
        ratios: predicted share of valid pages of the victims of G1 .. Gn.
        amplification: predicted write amplification, host pages included.
    """

    hot: Hot
    sizes: tuple[int, ...]
    ratios: tuple[float, ...]
    amplification: float


def search(model: Model, planes: int = 1, most_groups: int = MOST_GROUPS) -> Configuration | None:
    """Return the best configuration found, `None` if the model can say nothing.

    1. The size of the hot group: 1, 2, .. blocks as long as each gains 0.05, the valid pages it holds not
       counted.
    2. Split the last group, up to eight times: the best size of the new one, earlier ones as they are. Keep
       the best number of groups.
    3. Until nothing gets better: the size of the hot group again, then each size in turn against the last
       group's, adding a group if that helps.

    Args:
        model: of the device.
        planes: of the device; the hot group has up to 29 blocks in each.
        most_groups: besides the hot one.

    Returns:
        The configuration.
    """
    hot_sizes = range(planes, (MOST_HOT_BLOCKS + 1) * planes, planes)
    best = _first_hot(model, hot_sizes)
    if best is None:
        return None
    best = _split(model, best, most_groups)
    for _ in range(MOST_ROUNDS):
        better = _each_size(model, _best_hot(model, best, hot_sizes), most_groups)
        if better is best:
            break
        best = better
    return best


def _evaluated(model: Model, hot: Hot | None, fixed: tuple[int, ...]) -> Configuration | None:
    """Return the configuration of these sizes of all groups but the last one, if it is possible."""
    if hot is None:
        return None
    cost, ratios = model.predict(hot, fixed)
    if not np.isfinite(cost[0]):
        return None
    last = model.blocks - hot.blocks - sum(fixed)
    return Configuration(hot, (*fixed, last), tuple(float(ratio[0]) for ratio in ratios), float(cost[0]))


def _first_hot(model: Model, sizes: range) -> Configuration | None:
    """Return the best configuration of the hot group and one more; larger hot groups have to pay."""
    if not model.measured.computable:
        return _evaluated(model, model.hot(1), ())
    best = None
    for wanted in sizes:
        if best is None or wanted > best.hot.blocks:
            found = _evaluated(model, _cautious(model.hot(wanted)), ())
            if found is None or (best and found.amplification >= best.amplification - HOT_GAIN):
                break
            best = found
    return best and _evaluated(model, model.hot(best.hot.blocks), ())


def _best_hot(model: Model, best: Configuration, sizes: range) -> Configuration:
    """Return the configuration with the best size of its hot group."""
    if model.measured.computable:
        for wanted in sizes:
            found = _evaluated(model, _cautious(model.hot(wanted)), best.sizes[:-1])
            if found is not None and found.amplification < best.amplification:
                best = _evaluated(model, model.hot(wanted), best.sizes[:-1]) or best
    return best


def _cautious(hot: Hot | None) -> Hot | None:
    """Return the hot group without the valid pages that the model says it holds.

    Sizes are compared so, as the authors' program does: the filter does not find all the pages that the model
    counts as hot, and a larger group would only hold blocks back.
    """
    return hot and replace(hot, held=0.0)


def _split(model: Model, best: Configuration, most_groups: int) -> Configuration:
    """Return the best of the configurations that come from splitting the last group again and again."""
    found: Configuration | None = best
    for place in range(most_groups - 1):
        assert found is not None
        found = _best_size(model, found.hot, found.sizes[:-1], place)
        if found is None:
            break
        if found.amplification < best.amplification:
            best = found
    return best


def _each_size(model: Model, best: Configuration, most_groups: int) -> Configuration:
    """Return the configuration after one pass over the sizes."""
    for place in range(most_groups - 1):
        found = _best_size(model, best.hot, best.sizes[:-1], place)
        if found is not None and found.amplification < best.amplification:
            best = found
        elif place >= len(best.sizes) - 1:
            break
    return best


def _best_size(model: Model, hot: Hot, fixed: tuple[int, ...], place: int) -> Configuration | None:
    """Return the best configuration in which one group, or a new one behind `fixed`, has another size."""
    others = (*fixed[:place], *fixed[place + 1 :])
    room = model.blocks - hot.blocks - sum(others) - model.margin
    if room < 1:
        return None
    tried = np.arange(1, room + 1)
    cost, _ = model.predict(hot, (*fixed[:place], tried, *fixed[place + 1 :]))
    k = int(np.argmin(cost))
    return _evaluated(model, hot, (*fixed[:place], int(tried[k]), *fixed[place + 1 :]))
