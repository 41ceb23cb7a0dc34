"""Ray's population based training, with decisions that depend on the seed of the sweep alone."""

from __future__ import annotations

import math
import random
from functools import partial
from typing import Any

import numpy as np
from ray.tune.schedulers import PopulationBasedTraining

from ssdgym.experiments.tuning.config import PbtConfig, SweepConfig
from ssdgym.experiments.tuning.on_ray.watch import Watch, in_words, number_of
from ssdgym.experiments.tuning.ranges import RangeConfig


class Population(PopulationBasedTraining):
    """All members wait for each other at every stage, and then those that are worst copy those that are best.

    Args:
        sweep: one with this scheduler.
    """

    def __init__(self, sweep: SweepConfig) -> None:
        assert isinstance(sweep.scheduler, PbtConfig)
        super().__init__(
            time_attr="stage",
            metric="metric",
            mode=sweep.mode,
            perturbation_interval=1,
            hyperparam_mutations={
                "trial": {"parameters": {name: _mutation(values) for name, values in sweep.space.items()}}
            },
            quantile_fraction=sweep.scheduler.quantile,
            resample_probability=sweep.scheduler.resample_probability,
            perturbation_factors=sweep.scheduler.factors,
            custom_explore_fn=partial(_within_limits, space=sweep.space),
            log_config=False,
            # the last report has no stage, since nobody is to begin anything anew after it
            require_attrs=False,
            synch=True,
        )
        self._seed = sweep.seed

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:
        """Let the others go on where they have waited for this one.

        Ray compares the members when the last of them reports, which this one no longer does.
        """
        super().on_trial_error(tune_controller, trial)
        state: Any = self._trial_state[trial]
        state.last_train_time, state.last_score = self._next_perturbation_sync, math.nan
        others = [one for one in tune_controller.get_live_trials() if one is not trial]
        waiting = [self._trial_state[one].last_train_time >= self._next_perturbation_sync for one in others]
        if others and all(waiting):
            first: Any = self._trial_state[others[0]].last_result
            self.on_trial_result(tune_controller, others[0], first)

    def _checkpoint_or_exploit(self, trial: Any, *args: Any) -> None:
        # Ray draws from the global generator, which others use, too
        before = random.getstate()
        random.seed(f"{self._seed} {number_of(trial)} {self._trial_state[trial].last_train_time}")
        try:
            super()._checkpoint_or_exploit(trial, *args)
        finally:
            random.setstate(before)

    def _get_new_config(self, trial: Any, trial_to_clone: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        config, operations = super()._get_new_config(trial, trial_to_clone)
        config["trial"]["number"] = number_of(trial)
        stage = self._trial_state[trial].last_train_time
        parameters = in_words(config["trial"]["parameters"])
        Watch.say(
            f"trial {number_of(trial)} copies trial {number_of(trial_to_clone)} after stage {stage}: "
            f"{parameters}"
        )
        return config, operations


def _mutation(values: RangeConfig) -> Any:
    """Return what Ray needs to change a value: a list to move in, or a function that draws anew."""
    return list(values.choice) if values.choice else partial(_draw, values)


def _draw(values: RangeConfig) -> Any:
    return values.draw(np.random.default_rng(random.getrandbits(64)))


def _within_limits(config: dict[str, Any], space: dict[str, RangeConfig]) -> dict[str, Any]:
    """Put numbers that have been multiplied back into their ranges."""
    parameters = config["trial"]["parameters"]
    for name, values in space.items():
        if not values.choice:
            parameters[name] = values.nearest(parameters[name])
    return config
