"""Cut learning by gradients into segments, between which nothing is under way."""

from __future__ import annotations

from collections.abc import Callable

from stable_baselines3.common.callbacks import BaseCallback


class Enough(Exception):
    """Ends learning at a checkpoint, where Stable-Baselines3 would begin the next rollout."""


class Segments(BaseCallback):
    """Calls back between segments, and after every step.

    Args:
        every: decisions between two checkpoints, rounded up to a whole update.
        at_checkpoint: called between two segments; may end learning by raising `Enough`.
        on_step: called with the decisions so far.
    """

    def __init__(self, every: int, at_checkpoint: Callable[[], None], on_step: Callable[[int], None]) -> None:
        super().__init__()
        self.every = every
        self.at_checkpoint = at_checkpoint
        self.on_step_taken = on_step

    def _on_training_start(self) -> None:
        self._plan()

    def _on_rollout_start(self) -> None:
        # here the update that belongs to the last rollout is done, and the next rollout has not looked yet
        if self.model.num_timesteps >= self.next_checkpoint:
            self.at_checkpoint()
            self._plan()

    def _on_step(self) -> bool:
        self.on_step_taken(self.model.num_timesteps)
        return True

    def _plan(self) -> None:
        self.next_checkpoint = (self.model.num_timesteps // self.every + 1) * self.every
