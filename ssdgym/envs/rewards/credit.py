"""Credit: the cost of each single decision about a page's placement, and transitions for learners.

A decision places a copy of a page. Its cost is known when the agent places the page again because it is
relocated, or when the copy is invalid and erased. The tracker `ssdgym.policy.page_credit` records the costs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.decisions import PLACE, RELOCATE
from ssdgym.engine.view import memory_start
from ssdgym.envs.batch import Batch
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy.on_device import rules_on
from ssdgym.policy.page_credit import page_credit


class Credit(NamedTuple):
    """The cost of a decision.

    Attributes:
        decision: number of the decision in the episode, from 0.
        cost: of a page: number of its relocations up to the next decision about it or to its end, plus a rent
            for the space that the invalid copy occupied until its erase. Of sectors: see `sector_credit`.
        following: number of the next decision about the same data, which has a cost of its own; -1 if there
            is none.
    """

    decision: int
    cost: float
    following: int


def checked_price(credit: Any) -> float | None:
    """Return the argument `credit` of an environment, a price.

    Raises:
        SsdgymError: `credit` is neither None nor a number from 0 up.
    """
    if credit is None:
        return None
    if isinstance(credit, bool) or not isinstance(credit, Real) or not 0 <= float(credit) < np.inf:
        raise SsdgymError(f"credit must be None or a price, a number from 0 up, not {shown(credit)}.")
    return float(credit)


def credit_tracker(kinds: Sequence[int], devices: Sequence[DeviceConfig]) -> str:
    """Return the tracker that records costs, with its parameters, in the form of an item of `ftl.trackers`.

    Sizes of records are rounded up to powers of two, so that devices of similar size share compiled code.

    Args:
        kinds: kinds of the agent's decisions, numbers of `ssdgym.engine.decisions`.
        devices: all devices with the tracker. Its records are large enough for each of them.
    """
    pages_per_block = max(device.geometry.pages_per_block for device in devices)
    pages = max(device.geometry.physical_pages for device in devices)
    parameters = {
        "host": int(PLACE in kinds),
        "relocated": int(RELOCATE in kinds),
        "pages_per_block": 1 << (pages_per_block - 1).bit_length(),
        "pages": 1 << (pages - 1).bit_length(),
    }
    return page_credit.with_parameters(parameters).label


class PageCredits:
    """The credits of the devices of a `PlacementEnv`, numbered from 0 to n - 1.

    Args:
        batches: batches with the devices.
        price: rent for the space of an invalid copy that is erased L host pages after its invalidation, where
            L is the number of the device's logical pages. The rent is proportional to this wait.
    """

    def __init__(self, batches: Sequence[Batch], price: float) -> None:
        self._batches = batches
        self._places = {int(i): (batch, k) for batch in batches for k, i in enumerate(batch.numbers)}
        self._rents = np.zeros(len(self._places))
        for batch in batches:
            self._rents[batch.numbers] = [price / device.logical_pages for device in batch.devices]
        rules = rules_on(batches[0].devices[0])
        self._kept = next(rule.memory.device for rule in rules if rule.name == page_credit.name)

    def _records_of(self, batch: Batch) -> np.ndarray:
        """Return the tracker's record of each device, shape (m,), as a view of the devices' memory."""
        start = memory_start(batch.state, 0, "memory", "place")
        assert self._kept is not None, "the tracker keeps one"
        return batch.state.memory[:, start : start + self._kept.itemsize].view(self._kept)[:, 0]

    def begin(self, i: int) -> None:
        """Begin to count the decisions of device `i`, from 0."""
        batch, k = self._places[i]
        self._records_of(batch)["due"][k] = 1

    def note(self, which: np.ndarray, actions: np.ndarray) -> None:
        """Remove the credits of the last step. The tracker records the decisions of a step."""
        for batch in self._batches:
            self._records_of(batch)["settled"] = 0

    def info(self, i: int) -> dict[str, Any]:
        """Return the entries `decision` (a number) and `credits` (a list) of the info of device `i`."""
        batch, k = self._places[i]
        record = self._records_of(batch)[k]
        return {"decision": int(record["due"]) - 1, "credits": self._rows(i, record)}

    def infos(self) -> dict[str, np.ndarray]:
        """Return the batched infos `decision`, int64 (n,), and `credits`, object (n,): a list per device."""
        count = len(self._rents)
        decisions, rows = np.zeros(count, np.int64), np.empty(count, object)
        rows[:] = [[] for _ in range(count)]
        for batch in self._batches:
            records, numbers = self._records_of(batch), batch.numbers
            decisions[numbers] = records["due"] - 1
            for k in np.flatnonzero(records["settled"]):
                rows[numbers[k]] = self._rows(int(numbers[k]), records[k])
        return {"decision": decisions, "credits": rows}

    def _rows(self, i: int, record: np.void) -> list[Credit]:
        count = int(record["settled"])
        if count == 0:
            return []
        costs = record["moves"][:count] + self._rents[i] * record["waited"][:count]
        columns = (record["decision"][:count] - 1, costs, record["following"][:count] - 1)
        return list(map(Credit, *(column.tolist() for column in columns)))


class Transitions(NamedTuple):
    """Decisions whose cost is known.

    Attributes:
        seen: (m, ...) float32, the observation at each decision.
        actions: (m,) int64, the action.
        costs: (m,) float32, the cost of the decision.
        following: (m, ...) float32, the observation at the next decision about the data; 0 where `done`.
        done: (m,) bool, whether no decision about the data follows.
    """

    seen: np.ndarray
    actions: np.ndarray
    costs: np.ndarray
    following: np.ndarray
    done: np.ndarray


class CreditBuffer:
    """Join decisions and their credits to transitions, and keep the newest transitions.

        buffer.note(infos, seen, actions)  # before a step
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        buffer.join(infos)  # after the step

    The infos may be those of a single environment, or of a vector environment in any autoreset mode. The
    buffer stores a decision until its credit is known: at most one for each physical page or sector. It
    ignores credits of decisions that `note` has not stored.

    Args:
        size: largest number of transitions kept.
        shape: shape of the observation of a decision.

    Attributes:
        joined: number of transitions so far, including those dropped.
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
        #: Decisions without credit so far: observation and action, by environment and number of the decision.
        self._open: defaultdict[int, dict[int, tuple[np.ndarray, int]]] = defaultdict(dict)
        #: Number of the decision that is due, by environment.
        self._due: list[int] = []

    def note(self, infos: Mapping[str, Any], seen: np.ndarray, actions: Any) -> None:
        """Store the observations and actions of the decisions that are due.

        Args:
            infos: infos of the last step or reset.
            seen: observations, float32 (n, *shape); for a single environment of shape `shape`.
            actions: chosen actions (n,), or a number for a single environment.
        """
        decisions = self._due_in(infos)
        seen = np.array(seen, np.float32).reshape(len(decisions), *self._kept.seen.shape[1:])
        for i, (decision, action) in enumerate(zip(decisions, np.atleast_1d(actions).tolist(), strict=True)):
            if decision == 0:  # a new episode begins: open decisions of the last one get no credit
                self._open[i].clear()
            self._open[i][decision] = (seen[i], action)

    def join(self, infos: Mapping[str, Any]) -> None:
        """Make a transition of each credit in the infos of a step, and of each in its `final_info`."""
        self._due_in(infos)
        for found in (infos.get("final_info", {}), infos):
            credits = found.get("credits", [])
            for i, own in enumerate(credits if isinstance(credits, np.ndarray) else [credits]):
                for credit in own or ():
                    if credit.decision in self._open[i]:
                        self._join(self._open[i], credit)

    def _due_in(self, infos: Mapping[str, Any]) -> list[int]:
        """Return the number of the decision due in each environment; a masked reset gives some only."""
        decisions = np.atleast_1d(infos["decision"]).tolist()
        given = zip(
            infos.get("_decision", [True] * len(decisions)), decisions, self._due or decisions, strict=True
        )
        self._due = [decision if present else due for present, decision, due in given]
        return self._due

    def _join(self, noted: dict[int, tuple[np.ndarray, int]], credit: Credit) -> None:
        kept, row = self._kept, self.joined % len(self._kept.done)
        kept.seen[row], kept.actions[row] = noted.pop(credit.decision)
        kept.costs[row] = credit.cost
        kept.done[row] = credit.following < 0
        kept.following[row] = 0.0 if credit.following < 0 else noted[credit.following][0]
        self.joined += 1

    def __len__(self) -> int:
        """Return the number of transitions kept."""
        return min(self.joined, len(self._kept.done))

    def sample(self, count: int, rng: np.random.Generator) -> Transitions:
        """Draw transitions uniformly at random, with replacement."""
        return self._rows(rng.integers(len(self), size=count))

    def newest(self, count: int) -> Transitions:
        """Return the newest `count` transitions, oldest first; all if fewer are kept."""
        return self._rows(np.arange(self.joined - min(count, len(self)), self.joined) % len(self._kept.done))

    def _rows(self, rows: np.ndarray) -> Transitions:
        return Transitions(*(array[rows] for array in self._kept))
