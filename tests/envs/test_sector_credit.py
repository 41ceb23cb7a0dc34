"""Credit for each decision of `SubpageRegion-v0`, against a search through the whole history of decisions."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from ssdgym.envs import SubpageRegionEnv, SubpageRegionVectorEnv
from ssdgym.envs.rewards.credit import Credit
from ssdgym.errors import SsdgymError
from tests.envs import cases
from tests.envs.vector.compare import assert_same
from tests.simulator.test_subpage import tiny

PRICE = 0.5
options = partial(
    cases.options,
    "SubpageRegion",
    workload="zipf99",
    horizon=3000,
    features=["way_number", "way_time", "sector_updated", "asks_collected"],
    credit=PRICE,
)


class Taken(NamedTuple):
    """A decision in the history of an episode."""

    sectors: set[int]
    collected: bool
    action: int
    time: float
    #: Of each sector of the group: how many writes the copy in flash has seen, and how many are under way.
    writes: dict[int, tuple[int, int]]

    def copies(self, sector: int) -> range:
        """Return how many writes a copy can have seen that this decision puts into the region."""
        seen, under_way = self.writes[sector]
        return range(seen, seen + 1) if self.collected else range(seen + under_way, seen + under_way + 2)


def take(env: SubpageRegionEnv, action: int, time: float) -> Taken:
    """Return the present decision of an environment, taken by an action of a nominal time."""
    state = env.episodes.state
    lpn, slots = int(state.control[0, 0]["decision_subject"]), int(state.subpage[0, 0]["slots"])
    group = range(lpn - lpn % slots, lpn - lpn % slots + slots)
    collected = bool(state.buffer[0, 0]["collected_plane"] >= 0)
    leaving = {s for s in group if int(state.buffer[0, 0]["leaving"]) >> s % slots & 1}
    writes = {s: (int(state.logical[0]["version"][s]), int(state.in_flight[0][s])) for s in group}
    return Taken({lpn} if collected else leaving, collected, action, time, writes)


def credit_of(number: int, history: list[Taken]) -> tuple[int, Credit] | None:
    """Return when the cost of a decision is known, and the credit; None if it is not yet known."""
    taken = history[number]
    if taken.action == 0:
        return number, Credit(number, taken.time + (PRICE if taken.time else 0), -1)
    if taken.collected:
        (lpn,) = taken.sectors
        flushes = [one for one in history[:number] if lpn in one.sectors and not one.collected]
        if flushes and flushes[-1].action == 1 and taken.writes[lpn][0] < flushes[-1].copies(lpn)[0]:
            return number, Credit(number, taken.time, -1)
    left = set(taken.sectors)
    for later in range(number + 1, len(history)):
        other = history[later]
        moved = set() if other.action else other.writes.keys() - other.sectors
        for sector in left & (other.sectors | moved):
            copies, seen = taken.copies(sector), other.writes[sector][0]
            if sector in other.sectors and not other.collected:
                left.discard(sector)
            elif seen in copies and sector in other.sectors:
                return later, Credit(number, taken.time, later)
            elif seen >= copies[0]:
                left.discard(sector)
        if not left:
            return later, Credit(number, taken.time, -1)
    return None


@pytest.mark.parametrize("timing", ["none", "event"])
def test_credits__of_random_decisions__are_those_of_the_history(timing: str) -> None:
    env = SubpageRegionEnv(**options(device=tiny(timing=timing)))
    observation, info = env.reset(seed=3)
    rng, history, found, over = np.random.default_rng(0), [], [], False
    while not over:
        assert info["decision"] == len(history)
        action = int(rng.random() < 0.8)
        history.append(take(env, action, float(observation["candidates"][action, 1])))
        observation, _, _, over, info = env.step(action)
        found += [(len(history) - 1, credit) for credit in info["credits"]]
    expected = [known for number in range(len(history)) if (known := credit_of(number, history))]
    assert sorted(found) == sorted(expected) and len(found) > 500
    kinds = {(history[credit.decision].collected, credit.following >= 0) for _, credit in found}
    assert kinds >= {(False, False), (False, True), (True, False)}


def test_eviction_under_way__costs_nothing_more() -> None:
    """With time, the second subpage of a group that is being evicted can be collected."""
    env = SubpageRegionEnv(**options(device=tiny(timing="event"), workload="small_mixed"))
    observation, _ = env.reset(seed=3)
    free, over = 0, False
    while not over:
        action = int(not take(env, 0, 0.0).collected)  # all that leaves the buffer to the region, then out
        time = observation["candidates"][action, 1]
        observation, _, _, over, info = env.step(action)
        if action == 0:
            assert info["credits"][-1].cost == (time + PRICE if time else 0)
            free += time == 0
    assert free > 0


def test_device_and_observations__with_credit_and_without__the_same() -> None:
    envs = [SubpageRegionEnv(**options(**change)) for change in ({}, {"credit": None})]
    rng, over = np.random.default_rng(0), False
    found = [env.reset(seed=1) for env in envs]
    while True:
        del found[0][-1]["decision"], found[0][-1]["credits"]
        assert_same(*found)
        if over:
            break
        action = int(rng.integers(2))
        found = [env.step(action) for env in envs]
        over = found[0][3]


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_vector__of_two_devices__what_gymnasium_makes_of_single_ones(mode: str) -> None:
    ours = SubpageRegionVectorEnv(2, **options(horizon=300), autoreset_mode=mode)
    singles = [lambda: SubpageRegionEnv(**options(horizon=300)) for _ in range(2)]
    theirs = SyncVectorEnv(singles, autoreset_mode=ours.autoreset_mode)
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))
    rng, rows = np.random.default_rng(0), 0
    for _ in range(600):
        actions = rng.integers(2, size=2)
        one, other = ours.step(actions), theirs.step(actions)
        assert_same(one, other)
        rows += sum(map(len, one[-1]["credits"]))
    assert rows > 100


def test_pickled__in_the_middle_of_an_episode__goes_on_with_the_same_credits() -> None:
    env = SubpageRegionEnv(**options())
    env.reset(seed=1)
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        env.step(rng.integers(2))
    other = pickle.loads(pickle.dumps(env))
    for _ in range(200):
        action = rng.integers(2)
        infos = [each.step(action)[-1] for each in (env, other)]
        assert_same(*infos)
        found += infos[0]["credits"]
    assert len(found) > 50


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"credit": "1"}, "credit must be None or a price, a number from 0 up, not '1'"),
        ({"features": ["way_number"]}, "credit needs the feature way_time; add it to features, or leave"),
        ({"decides": "flushes"}, "credit needs all decisions about a sector; set decides to both, or leave"),
    ],
    ids=str,
)
def test_arguments__that_do_not_fit__said_so(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        SubpageRegionEnv(**options(**changes))


def test_decision_arguments__without_credit__which_is_for_training() -> None:
    assert "credit" not in SubpageRegionEnv.options_type.decision_arguments()
