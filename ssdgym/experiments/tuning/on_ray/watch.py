"""How far a sweep is, and what happens in it, as Ray tells it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ssdgym.experiments.tuning.config import SweepConfig
from ssdgym.experiments.tuning.measuring import ALL
from ssdgym.experiments.tuning.on_ray.cluster import last_line, tune
from ssdgym.experiments.tuning.ranges import Parameters


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is.

    Attributes:
        trials: in all.
        done: trials that have ended.
        failed: those of them that failed.
        running: trials that run now.
        waiting: members of a population that wait for the others.
        share: of the work, in trials, those that run counted by what they have done.
        best: the best metric so far; `None` before the first report.
    """

    trials: int
    done: int
    failed: int
    running: int
    waiting: int
    share: float
    best: float | None


Watcher = Callable[[SweepProgress], None]


@dataclass
class Audience:
    """Who is told what.

    Attributes:
        sweep: the one that runs.
        trials: how many it has in all; Ray makes them as it goes.
        watch: called as trials get on.
        say: called with a line when a trial begins, ends or copies another one.
        begun: when each trial has begun, in seconds of a monotonic clock.
    """

    sweep: SweepConfig
    trials: int
    watch: Watcher | None
    say: Callable[[str], None] | None
    begun: dict[int, float] = field(default_factory=dict)


class Watch(tune.Callback):
    """Pass on what Ray tells.

    Ray pickles callbacks and schedulers; the class keeps what cannot be pickled.
    """

    audience: ClassVar[Audience | None] = None

    @classmethod
    def say(cls, text: str) -> None:
        """Pass a line on."""
        if cls.audience and cls.audience.say:
            cls.audience.say(text)

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        """Tell once that a trial begins; members of a population are started at every stage."""
        number = number_of(trial)
        if self.audience and number not in self.audience.begun:
            self.audience.begun[number] = time.monotonic()
            self.say(f"trial {number} begins: {in_words(trial.config['trial']['parameters'])}")

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        """Tell how a trial has ended."""
        result = trial.last_result or {}
        percent = result.get("percent", 0)
        how = "finished" if percent >= ALL else f"stopped early at {percent} %"
        self._tell_end(trial, f"{how}: {self._metric_name()} {result.get('metric', math.nan):.6g}")

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:
        """Tell why a trial has failed."""
        self._tell_end(trial, f"failed: {_error_of(trial)}")

    def on_step_end(self, iteration: int, trials: list[Any], **_: Any) -> None:
        """Tell the watcher how far the trials are."""
        if self.audience is None or self.audience.watch is None:
            return
        states = [trial.status for trial in trials]
        ended = [state in ("TERMINATED", "ERROR") for state in states]
        results = [trial.last_result or {} for trial in trials]
        shares = [
            1.0 if over else result.get("percent", 0) / ALL
            for result, over in zip(results, ended, strict=True)
        ]
        metrics = [result["metric"] for result in results if "metric" in result]
        best = (min if self.audience.sweep.mode == "min" else max)(metrics, default=None)
        self.audience.watch(
            SweepProgress(
                trials=self.audience.trials,
                done=sum(ended),
                failed=states.count("ERROR"),
                running=states.count("RUNNING"),
                waiting=states.count("PAUSED"),
                share=sum(shares),
                best=best,
            )
        )

    def _tell_end(self, trial: Any, text: str) -> None:
        number = number_of(trial)
        begun = self.audience.begun.get(number) if self.audience else None
        seconds = "" if begun is None else f" ({time.monotonic() - begun:.0f} s)"
        self.say(f"trial {number} {text}{seconds}")

    def _metric_name(self) -> str:
        return self.audience.sweep.metric if self.audience else "metric"


def _error_of(trial: Any) -> str:
    """Return the last line of the error that Ray has written to a file."""
    try:
        return last_line(Path(trial.error_file).read_text(encoding="utf-8"))
    except (OSError, TypeError):
        return "Ray has kept no error"


def number_of(trial: Any) -> int:
    """Return the number of one of Ray's trials."""
    return int(trial.config["trial"]["number"])


def in_words(parameters: Parameters) -> str:
    """Return parameters as a line shows them."""
    return ", ".join(f"{name}={value}" for name, value in parameters.items())
