"""What ``ippbe`` and ``parallel_gc`` erase together, against their rules in plain Python.

On the decisions of runs, and on made-up planes, whose units tie and fall from light to heavy in every way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.records import INDEXED, POOLED
from ssdgym.engine.core.status import ERASE_DECISION
from ssdgym.engine.view import view_arrays
from ssdgym.policy import device_for, get_policy, new_choice
from ssdgym.simulator import Recording, Simulator
from tests.engine.devices import device, random_writes

PLANES, BLOCKS, S, PPS = 3, 16, 4, 3
PPB = S * PPS
GEOMETRY = {
    "planes_per_die": PLANES,
    "blocks_per_plane": BLOCKS,
    "pages_per_block": PPB,
    "sub_blocks_per_block": S,
}
MOST_PAIRS = 8

#: A block and sub-blocks of it.
Pair = tuple[int, tuple[int, ...]]


class Rule(NamedTuple):
    """The parameters of `ippbe`."""

    limit: int = 2
    tau: float = 0.4
    together: int = 0


class Planes:
    """What the planes of all dies hold when a decision is due."""

    def __init__(self, sim: Simulator, leader: int) -> None:
        self.config, self.leader = sim.device, leader
        state = sim.state
        block, unit, plane = state.block[0].copy(), state.sub_block[0].copy(), state.plane[0].copy()
        self.dies = self.config.geometry.planes // PLANES
        self.invalid = unit["invalid"].reshape(-1, S)
        self.written = unit["written"].reshape(-1, S)
        self.valid = self.written - self.invalid
        self.indexed = block["status"] & INDEXED != 0
        self.pool_pages = plane["pool_pages"]
        self.in_round = plane["round_leader"] >= 0
        floor = state.params["stop_pool"][0, 0]
        self.must_gain = [bool(state.params["must_gain"][0, 0] or pages < floor) for pages in self.pool_pages]
        buckets = state.bucket[0]["head"].reshape(-1, PPB + 1)
        self.by_invalid = [self._walk(block, heads) for heads in buckets]

    @staticmethod
    def _walk(block: np.ndarray, heads: np.ndarray) -> list[int]:
        """The eligible blocks of a plane, the fullest bucket first, each from its head."""
        found = []
        for head in heads[:0:-1]:
            number = int(head)
            while number >= 0:
                found.append(number)
                number = int(block["next_bucket"][number])
        return found

    def plane_of(self, block: int) -> int:
        return block // BLOCKS

    def siblings(self) -> list[int]:
        planes = range(self.leader % self.dies, PLANES * self.dies, self.dies)
        return [plane for plane in planes if plane != self.leader]

    def neighbours(self, chosen: tuple[int, ...]) -> set[int]:
        if self.config.isolation != "software":
            return set()
        return {s + d for s in chosen for d in (-1, 1) if 0 <= s + d < S} - set(chosen)

    def pages(self, of: np.ndarray, pair: Pair) -> int:
        return sum(int(of[pair[0]][s]) for s in pair[1])

    def _pair_is_legal(self, pairs: list[Pair], pair: Pair) -> bool:
        plane = self.plane_of(pair[0])
        if plane != self.leader:
            if self.config.multi_plane == "none" or plane not in self.siblings() or self.in_round[plane]:
                return False
            led = [block % BLOCKS for block, _ in pairs if self.plane_of(block) == self.leader]
            if self.config.multi_plane == "strict" and pair[0] % BLOCKS not in led:
                return False
        gain = self.pages(self.invalid, pair)
        beside = sum(int(self.valid[pair[0]][s]) for s in self.neighbours(pair[1]))
        must_gain = self.must_gain[self.leader] or self.must_gain[plane]
        return bool(self.indexed[pair[0]]) and gain > (beside if must_gain else 0)

    def is_legal(self, pairs: list[Pair]) -> bool:
        blocks = [block for block, _ in pairs]
        if not 1 <= len(pairs) <= MOST_PAIRS or len(set(blocks)) < len(blocks):
            return False
        if self.leader not in map(self.plane_of, blocks):
            return False
        if not all(self._pair_is_legal(pairs, pair) for pair in pairs):
            return False
        return all(self._has_room(plane, pairs) for plane in {self.plane_of(block) for block in blocks})

    def _has_room(self, plane: int, pairs: list[Pair]) -> bool:
        taken = 0
        for block, chosen in pairs:
            if self.plane_of(block) == plane:
                taken += sum(int(self.valid[block][s]) for s in {*chosen, *self.neighbours(chosen)})
                taken += PPB - int(self.written[block].sum())
        return taken <= max(PPB, int(self.pool_pages[plane]) - PPB)

    # -- the rules

    def units(self, plane: int) -> list[Pair]:
        """In falling order of invalid pages, at least one."""
        if self.config.erase_unit != "sub_block_set":
            return [(block, tuple(range(S))) for block in self.by_invalid[plane]]
        blocks = range(plane * BLOCKS, (plane + 1) * BLOCKS)
        units = [(b, (s,)) for b in blocks if self.indexed[b] for s in range(S) if self.invalid[b][s]]
        return sorted(units, key=lambda unit: (-self.pages(self.invalid, unit), unit))

    def is_heavy(self, chosen: list[Pair], unit: Pair, rule: Rule) -> bool:
        units = [*chosen, unit] if rule.together else [unit]
        return sum(self.pages(self.valid, one) for one in units) >= rule.tau * PPS * len(unit[1]) * len(units)

    def greedy(self) -> list[Pair]:
        return [(self.by_invalid[self.leader][0], tuple(range(S)))]

    def ippbe(self, rule: Rule, ends: Counter[str]) -> list[Pair]:
        """``ends`` counts what ended the search in a plane."""
        first = self.units(self.leader)[0]
        if not self.is_legal([first]):
            ends["first is illegal"] += 1
            return self.greedy()
        led = self._search([first], self.units(self.leader)[1:], rule.limit - 1, rule, ends)
        chosen = led
        if self.config.multi_plane == "relaxed":
            for sibling in self.siblings():
                chosen = self._search(chosen, self.units(sibling), rule.limit, rule, ends)
        if self.config.multi_plane == "strict":
            for sibling in self.siblings():
                for block, _ in led:
                    chosen = self._with_partner(chosen, block % BLOCKS + sibling * BLOCKS, rule, ends)
        return chosen

    def _search(
        self, chosen: list[Pair], units: list[Pair], most: int, rule: Rule, ends: Counter[str]
    ) -> list[Pair]:
        chosen = list(chosen)
        for unit in units:
            if unit[0] in [block for block, _ in chosen]:
                ends["block chosen already"] += 1
                continue
            if most == 0 or len(chosen) == MOST_PAIRS:
                ends["limit" if most == 0 else "eight pairs"] += 1
                break
            heavy = self.is_heavy(chosen, unit, rule)
            if heavy or not self.is_legal([*chosen, unit]):
                ends["heavy" if heavy else "illegal"] += 1
                break
            chosen.append(unit)
            most -= 1
        return chosen

    def _with_partner(self, chosen: list[Pair], block: int, rule: Rule, ends: Counter[str]) -> list[Pair]:
        unit = (block, tuple(range(S)))
        if self.config.erase_unit == "sub_block_set":
            unit = (block, (int(np.argmax(self.invalid[block])),))
        heavy = self.is_heavy(chosen, unit, rule)
        if not self.indexed[block] or not self.pages(self.invalid, unit) or heavy:
            ends["partner passed over"] += 1
            return chosen
        return [*chosen, unit] if self.is_legal([*chosen, unit]) else chosen

    def parallel_gc(self) -> list[Pair]:
        chosen = self.greedy()
        for sibling in self.siblings():
            partner = (chosen[0][0] % BLOCKS + sibling * BLOCKS, tuple(range(S)))
            if self.is_legal([*chosen, partner]):
                chosen.append(partner)
        return chosen

    def expected(self, policy: str, ends: Counter[str]) -> list[Pair]:
        rule = get_policy(policy).victim
        if rule.name == "parallel_gc":
            return self.parallel_gc()
        return self.ippbe(Rule(**rule.parameters), ends)


def pick(sim: Simulator, policy: str, plane: int) -> list[Pair]:
    """What a policy chooses."""
    rule, choice = get_policy(policy).victim, new_choice().view(np.recarray)
    count = int(rule.function(view_arrays(sim.state, 0), plane, rule.values, choice))
    pairs = [(int(pair["block"]), int(pair["mask"])) for pair in choice[:count]]
    return [(block, tuple(s for s in range(S) if mask >> s & 1)) for block, mask in pairs]


def config(gc: dict[str, Any], **fields: Any) -> DeviceConfig:
    return device(GEOMETRY, {"placement": "single", "gc": gc}, **{"over_provisioning": 1.0, **fields})


#: Of the device, whatever the policy asks for.
DEVICES: dict[str, dict[str, Any]] = {
    "blocks": {},
    "relaxed": {"multi_plane": "relaxed"},
    "strict": {"multi_plane": "strict"},
    "runs": {"erase_unit": "sub_block_run"},
    "sets": {"erase_unit": "sub_block_set"},
    "sets, isolated": {"erase_unit": "sub_block_set", "isolation": "software"},
    "sets, relaxed": {"erase_unit": "sub_block_set", "multi_plane": "relaxed"},
    "sets, strict": {"erase_unit": "sub_block_set", "multi_plane": "strict", "isolation": "software"},
}
BARRIER, PER_WRITE = {"free_blocks": 4}, {"free_blocks": 4, "mode": "per_write"}
PARAMETERS = [(1, 2.0), (2, 0.25), (3, 0.5), (4, 1.0), (8, 2.0), (4, 0.5, 1)]


def decisions(on: DeviceConfig, policy: str, seed: int) -> Iterator[tuple[Planes, list[Pair]]]:
    """The decisions of a run, each with the planes as they were."""
    sim = Simulator(on, policy=None, recording=Recording(1, 1))
    sim.feed(random_writes(1500, sim.logical_pages, seed))
    while sim.advance() == ERASE_DECISION:
        planes = Planes(sim, int(sim.state.control["decision_plane"][0, 0]))
        pairs = pick(sim, policy, planes.leader)
        yield planes, pairs
        sim.apply([(block, sum(1 << s for s in chosen)) for block, chosen in pairs])


@pytest.mark.parametrize("gc", [BARRIER, PER_WRITE], ids=["barrier", "per_write"])
@pytest.mark.parametrize("name", DEVICES)
def test_run__ippbe_picks_by_the_rule(name: str, gc: dict[str, Any]) -> None:
    policy, together = "ippbe(limit=3, tau=0.7)", 0
    for planes, pairs in decisions(config(gc, **DEVICES[name]), policy, seed=3):
        assert pairs == planes.expected(policy, Counter())
        together += len(pairs) > 1
    assert together > 10


@pytest.mark.parametrize("gc", [BARRIER, PER_WRITE], ids=["barrier", "per_write"])
def test_run__parallel_gc_picks_by_the_rule(gc: dict[str, Any]) -> None:
    together = 0
    for planes, pairs in decisions(device_for(config(gc), None, "parallel_gc"), "parallel_gc", seed=4):
        assert pairs == planes.parallel_gc()
        together += len(pairs) == PLANES
    assert together > 10


# -- made-up planes ------------------------------------------------------------------------------------------


def make_up(sim: Simulator, rng: np.random.Generator) -> int:
    """Give the blocks of all planes any content, and their buckets any order; returns the plane that leads.

    What a policy reads is consistent; the rest of the device is left as it is and no longer fits.
    """
    state = sim.arrays
    block, unit, plane = state.block[0], state.sub_block[0], state.plane[0]
    mostly_full = rng.random(len(unit)) < 0.8
    unit["written"] = np.where(mostly_full, PPS, rng.integers(0, PPS + 1, len(unit)))
    unit["invalid"] = rng.integers(0, unit["written"] + 1)
    unit["invalid"][rng.random(len(unit)) < rng.choice([0.0, 0.5, 0.9, 0.97])] = 0
    block["written"] = unit["written"].reshape(-1, S).sum(axis=1)
    block["invalid"] = unit["invalid"].reshape(-1, S).sum(axis=1)
    indexed = (rng.random(len(block)) < 0.8) & (block["written"] > 0)
    block["status"] = np.where(indexed, INDEXED, 0) | np.where(block["written"] < PPB, POOLED, 0)
    state.bucket[0]["head"] = state.bucket[0]["tail"] = -1
    block["next_bucket"] = -1
    buckets = state.bucket[0].reshape(-1, PPB + 1)
    for number in rng.permutation(np.flatnonzero(indexed)):
        bucket = buckets[number // BLOCKS, block["invalid"][number]]
        if bucket["head"] < 0:
            bucket["head"] = number
        else:
            block["next_bucket"][bucket["tail"]] = number
        bucket["tail"] = number
    plane["max_invalid"] = PPB
    plane["pool_pages"] = rng.choice([2, 4, 8, 16]) * PPB
    plane["round_leader"] = np.where(rng.random(len(plane)) < 0.1, 0, -1)
    leader = int(rng.integers(len(plane)))
    plane["round_leader"][leader] = -1
    return leader


@pytest.mark.parametrize("gc", [BARRIER, PER_WRITE], ids=["barrier", "per_write"])
@pytest.mark.parametrize("name", DEVICES)
def test_made_up_planes__picks_by_the_rule(name: str, gc: dict[str, Any]) -> None:
    """Every end that the search can have on such a device occurs."""
    sim = Simulator(config(gc, **DEVICES[name]), policy=None, recording=Recording(1, 1))
    rng = np.random.default_rng(len(name))
    ends: Counter[str] = Counter()
    for k in range(600):
        leader = make_up(sim, rng)
        planes = Planes(sim, leader)
        if not planes.by_invalid[leader]:
            assert pick(sim, "ippbe", leader) == []
            continue
        limit, tau, together = Rule(*PARAMETERS[k % len(PARAMETERS)])
        policy = f"ippbe(limit={limit}, tau={tau}, together={together})"
        pairs = pick(sim, policy, leader)
        assert pairs == planes.expected(policy, ends)
        assert planes.is_legal(pairs)
        if sim.device.multi_plane == "strict":
            pairs = pick(sim, "parallel_gc", leader)
            assert pairs == planes.parallel_gc()
            ends[f"parallel_gc, {len(pairs)} planes"] += 1
    wanted = {"heavy", "limit"}
    if name != "sets":  # where there is room for the valid pages of so few sub-blocks, always
        wanted |= {"illegal"}
    if sim.device.erase_unit == "sub_block_set":
        wanted |= {"block chosen already"}
    if sim.device.isolation == "software" and gc is BARRIER:
        wanted |= {"first is illegal"}
    if sim.device.multi_plane == "strict":
        wanted |= {"partner passed over", *(f"parallel_gc, {count} planes" for count in (1, 2, 3))}
    if sim.device.multi_plane == "relaxed":
        wanted |= {"eight pairs"}
    assert wanted <= set(ends), ends


def test_heavy_unit__ends_the_search__though_a_light_one_follows() -> None:
    """Of sub-blocks that were never full, one with fewer invalid pages can have fewer valid ones."""
    sim = Simulator(config(BARRIER, **DEVICES["sets"]), policy=None, recording=Recording(1, 1))
    make_up(sim, np.random.default_rng(0))
    state = sim.arrays
    state.sub_block[0]["invalid"] = 0
    state.block[0]["invalid"] = 1  # more than none, so that the blocks are looked at
    state.block[0]["status"] = INDEXED
    for block, written, invalid in ((3, 3, 3), (5, 3, 2), (7, 1, 1)):
        state.sub_block[0][block * S]["written"], state.sub_block[0][block * S]["invalid"] = written, invalid
        state.block[0][block]["invalid"] = invalid
    assert pick(sim, "ippbe(limit=3, tau=0.3)", 0) == [(3, (0,))]
    assert pick(sim, "ippbe(limit=3, tau=0.4)", 0) == [(3, (0,)), (5, (0,)), (7, (0,))]


@pytest.mark.parametrize(("together", "blocks"), [(0, [3]), (1, [3, 5])])
def test_heavy_unit__is_admitted_where_all_of_them_together_have_few_valid_pages(
    together: int, blocks: list[int]
) -> None:
    """Blocks with 0, 4 and 12 - 1 valid pages of 12; 4 is a third, and a sixth of the pages of both."""
    sim = Simulator(config(BARRIER), policy=None, recording=Recording(1, 1))
    make_up(sim, np.random.default_rng(0))
    state = sim.arrays
    state.block[0]["status"], state.block[0]["written"] = 0, PPB
    state.bucket[0]["head"] = -1
    for block, invalid in ((3, PPB), (5, PPB - 4), (7, 1)):
        state.block[0][block]["status"], state.block[0][block]["invalid"] = INDEXED, invalid
        state.block[0][block]["next_bucket"] = -1
        state.bucket[0][invalid]["head"] = block
    found = pick(sim, f"ippbe(limit=3, tau=0.3, together={together})", 0)
    assert [block for block, _ in found] == blocks


# -- names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "unit", "multi_plane"),
    [
        ("ippbe", None, None),
        ("ippbe_subblock", "sub_block_set", None),
        ("ippbe_multiplane", None, "relaxed"),
        ("ippbe_multiplane_strict", None, "strict"),
        ("ippbe_subblock_multiplane", "sub_block_set", "relaxed"),
        ("parallel_gc", None, "strict"),
    ],
)
def test_named__asks_the_device_for_what_it_erases(name: str, unit: Any, multi_plane: Any) -> None:
    policy = get_policy(name)
    assert (policy.erase_unit, policy.multi_plane, policy.placement) == (unit, multi_plane, None)
    plain, of_other_kind = config(BARRIER), config(BARRIER, erase_unit="sub_block_run", multi_plane="strict")
    assert policy.adapt(plain).erase_unit == (unit or "block")
    assert policy.adapt(plain).multi_plane == (multi_plane or "none")
    assert policy.adapt(of_other_kind).erase_unit == (unit or "sub_block_run")
    assert policy.adapt(of_other_kind).multi_plane == (multi_plane or "strict")


@pytest.mark.parametrize(
    "name", ["ippbe_subblock", "ippbe_multiplane", "ippbe_multiplane_strict", "ippbe_subblock_multiplane"]
)
def test_named__runs_as_ippbe_on_such_a_device(name: str) -> None:
    ends: Counter[str] = Counter()
    together = 0
    for planes, pairs in decisions(device_for(config(BARRIER), None, name), name, seed=5):
        assert pairs == planes.ippbe(Rule(), ends)
        together += len(pairs) > 1
    assert together > 0
