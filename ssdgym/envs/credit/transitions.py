"""Transitions of learners from credit per page: what was seen and done, what it cost, and what followed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ssdgym.envs.credit.settled import Credit


class Transitions(NamedTuple):
    """Decisions whose cost is known.

    Attributes:
        seen: (m, ...) float32, what was seen at each.
        actions: (m,) int64.
        costs: (m,) float32.
        following: (m, ...) float32, what was seen at the decision that went on with the page; 0 where `done`.
        done: (m,) bool, whether the life of the page was over.
    """

    seen: np.ndarray
    actions: np.ndarray
    costs: np.ndarray
    following: np.ndarray
    done: np.ndarray


class CreditBuffer:
    """Join decisions to their credits, and keep the newest of these transitions.

        buffer.note(infos, seen, actions)  # before a step
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        buffer.join(infos)  # after it

    It takes the infos of a single environment or of a vector environment, in every mode of autoreset. A
    decision waits here for as long as its copy is there: at most one for each physical page. Those that were
    not noted are left out.

    Args:
        size: most transitions kept.
        shape: of what is seen at a decision.

    Attributes:
        joined: transitions up to now, those included that are not kept any more.
    """

    def __init__(self, size: int, shape: tuple[int, ...]) -> None:
        self.joined = 0
        self._kept = Transitions(
            np.zeros((size, *shape), np.float32),
            np.zeros(size, np.int64),
            np.zeros(size, np.float32),
            np.zeros((size, *shape), np.float32),
            np.zeros(size, bool),
        )
        #: What was seen and done, by environment and decision.
        self._open: defaultdict[int, dict[int, tuple[np.ndarray, int]]] = defaultdict(dict)

    def note(self, infos: Mapping[str, Any], seen: np.ndarray, actions: Any) -> None:
        """Note what is seen and done at the decisions that are due.

        Args:
            infos: of the last step or reset.
            seen: (n, ...), or without the first axis for a single environment.
            actions: (n,), or a number.
        """
        decisions = np.atleast_1d(infos["decision"]).tolist()
        seen = np.array(seen, np.float32).reshape(len(decisions), *self._kept.seen.shape[1:])
        for i, (decision, action) in enumerate(zip(decisions, np.atleast_1d(actions).tolist(), strict=True)):
            if decision == 0:  # a new episode, in which nothing of the last one is settled
                self._open[i].clear()
            self._open[i][decision] = (seen[i], action)

    def join(self, infos: Mapping[str, Any]) -> None:
        """Make transitions of the credits that a step has shown, those at the end of an episode included."""
        for found in (infos.get("final_info", {}), infos):
            credits = found.get("credits", [])
            for i, own in enumerate(credits if isinstance(credits, np.ndarray) else [credits]):
                for credit in own or ():
                    if credit.decision in self._open[i]:
                        self._join(self._open[i], credit)

    def _join(self, noted: dict[int, tuple[np.ndarray, int]], credit: Credit) -> None:
        kept, row = self._kept, self.joined % len(self._kept.done)
        kept.seen[row], kept.actions[row] = noted.pop(credit.decision)
        kept.costs[row] = credit.cost
        kept.done[row] = credit.following < 0
        kept.following[row] = 0.0 if credit.following < 0 else noted[credit.following][0]
        self.joined += 1

    def __len__(self) -> int:
        """Return how many transitions are kept."""
        return min(self.joined, len(self._kept.done))

    def sample(self, count: int, rng: np.random.Generator) -> Transitions:
        """Draw transitions, each as likely, with replacement."""
        return self._rows(rng.integers(len(self), size=count))

    def newest(self, count: int) -> Transitions:
        """Return the transitions that were joined last, in their order; those kept, if there are fewer."""
        return self._rows(np.arange(self.joined - min(count, len(self)), self.joined) % len(self._kept.done))

    def _rows(self, rows: np.ndarray) -> Transitions:
        return Transitions(*(array[rows] for array in self._kept))


def advantages(
    transitions: Transitions, values: np.ndarray, following: np.ndarray, discount: float = 1.0
) -> np.ndarray:
    """Return by how much less than expected decisions have cost, as far as the next decision about the page.

    Args:
        transitions: m of them.
        values: (m,), the cost that is expected from `seen` on.
        following: (m,), the cost that is expected from `following` on; not looked at where `done`.
        discount: of what follows. Below 1, a page that is never written again has a finite cost.
    """
    return values - transitions.costs - discount * np.where(transitions.done, 0.0, following)
