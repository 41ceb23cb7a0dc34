"""Cut learning by gradients into segments, between which nothing is under way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


class Enough(Exception):
    """Ends learning at a checkpoint, where the next rollout would begin."""


class Segments:
    """Calls back between segments, and after every step.

    Args:
        every: decisions between two checkpoints, rounded up to a whole update.
        at_checkpoint: called between two segments; may end learning by raising `Enough`.
        on_step: called with the decisions so far.
    """

    def __init__(self, every: int, at_checkpoint: Callable[[], None], on_step: Callable[[int], None]) -> None:
        self.every = every
        self.at_checkpoint = at_checkpoint
        self.on_step = on_step

    def start(self, decisions: int) -> None:
        """Plan the first checkpoint.

        Args:
            decisions: learned from so far.
        """
        self._next = (decisions // self.every + 1) * self.every

    def end(self, decisions: int) -> bool:
        """Call back if a checkpoint is due, and return whether it was.

        Args:
            decisions: learned from so far, with their update done.

        Raises:
            Enough: the run is to end here.
        """
        if decisions < self._next:
            return False
        self.at_checkpoint()
        self.start(decisions)
        return True


def segment_seed(seed: int, decisions: int) -> int:
    """Return what every generator is seeded with where a segment begins, and its episodes.

    It depends on nothing else. That is why a run that was stopped at a checkpoint and resumed equals one that
    went on: at a checkpoint, both begin new episodes and seed again.

    Args:
        seed: of the training run.
        decisions: learned from so far.

    Returns:
        A number of 31 bits: the environments are seeded with it and those after it.
    """
    return int(np.random.SeedSequence([seed, decisions]).generate_state(1)[0]) >> 1
