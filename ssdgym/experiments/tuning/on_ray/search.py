"""Optuna as a search of Ray Tune, with suggestions that do not depend on which trial ends first."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from ray.tune.search.optuna import OptunaSearch

from ssdgym.errors import SsdgymError
from ssdgym.experiments.tuning.config import OptunaConfig, SweepConfig
from ssdgym.experiments.tuning.ranges import RangeConfig

try:
    import optuna
except ModuleNotFoundError as error:
    raise SsdgymError(
        f"search optuna needs the package {error.name}: install it with pip install 'ssdgym[tune]'"
    ) from error


class OptunaRounds(OptunaSearch):
    """Suggests in rounds of as many trials as run at a time, the next round when all results are there.

    Otherwise suggestions would depend on which of two trials has ended first, and no two sweeps, and no sweep
    that was killed and resumed, would have the same trials.

    Args:
        sweep: one with this search.
    """

    def __init__(self, sweep: SweepConfig) -> None:
        assert isinstance(sweep.search, OptunaConfig)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(
            n_startup_trials=sweep.search.startup_trials,
            seed=int(np.random.SeedSequence(sweep.seed).generate_state(1)[0]),
        )
        super().__init__(
            space=partial(_suggest, space=sweep.space), metric="metric", mode=sweep.mode, sampler=sampler
        )
        self._size = sweep.concurrent
        self._round: list[str] = []
        self._ended: dict[str, tuple[dict[str, Any] | None, bool]] = {}

    def suggest(self, trial_id: str) -> dict[str, Any] | None:
        """Return the parameters of the next trial; `None` while the round before is under way."""
        if len(self._round) == self._size:
            if len(self._ended) < self._size:
                return None
            for one in self._round:
                super().on_trial_complete(one, *self._ended[one])
            self._round, self._ended = [], {}
        self._round.append(trial_id)
        return super().suggest(trial_id)

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Keep a result until its round is over."""
        self._ended[trial_id] = (result, error)


def _suggest(trial: Any, space: dict[str, RangeConfig]) -> dict[str, Any]:
    """Return the configuration of a trial of Optuna's."""
    parameters = {name: _value(trial, name, values) for name, values in space.items()}
    return {"trial": {"number": trial.number, "parameters": parameters}}


def _value(trial: Any, name: str, values: RangeConfig) -> Any:
    if values.choice:
        # by place, since Optuna takes only plain values as categories
        return values.choice[trial.suggest_categorical(name, list(range(len(values.choice))))]
    low, high, *_ = values.limits
    return values.nearest(trial.suggest_float(name, low, high, log=values.logarithmic))
