"""Credit for each decision of `Placement-v0`, against books that are kept from what the device holds."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.decisions import RELOCATE
from ssdgym.envs import PlacementEnv, PlacementVectorEnv
from ssdgym.envs.rewards.credit import Credit, CreditBuffer
from ssdgym.errors import SsdgymError
from tests.engine.devices import device
from tests.envs.vector.compare import assert_same

SEED, HORIZON = 11, 2000
WORKLOAD = {
    "kind": "zipf",
    "theta": 0.9,
    "read_fraction": 0.2,
    "trim_fraction": 0.05,
    "request_pages": 2,
    "interarrival_ns": 900.0,
}
#: Of a dead page for each host page: sums of costs are exact, and relocations stand out.
RENT = 2.0**-20


def spacious(timing: str = "none", placement: str = "sep_gc", **fields: Any) -> DeviceConfig:
    geometry = {
        "blocks_per_plane": 40,
        "pages_per_block": 4,
        "planes_per_die": 2,
        **fields.pop("geometry", {}),
    }
    return device(geometry, {"timing": timing, "placement": placement}, over_provisioning=0.5, **fields)


def arguments(model: DeviceConfig | None = None, **changes: Any) -> dict[str, Any]:
    model = model or spacious()
    return {
        "device": model,
        "workload": WORKLOAD,
        "horizon": HORIZON,
        "preconditioning": "none",
        "streams": None,
        "reward": "plain",
        "credit": model.logical_pages * RENT,
        **changes,
    }


class Books:
    """What each copy costs, from the maps of the device before and after every step."""

    def __init__(self, env: PlacementEnv) -> None:
        self.env, self.state = env, env.episodes.state
        self.live: dict[int, int] = {}  # decision, by physical page
        self.dead: dict[int, tuple[int, int]] = {}  # decision and clock of the end, by physical page
        self.look()

    def look(self) -> None:
        """Note what the device holds before a step."""
        control = self.state.control[0, 0]
        self.subject, self.relocates = int(control["decision_subject"]), control["decision_kind"] == RELOCATE
        self.lpn = int(self.state.physical["lpn"][0, self.subject]) if self.relocates else self.subject
        self.physical = self.state.physical[0].copy()
        self.erases = self.state.sub_block["erases"][0].copy()

    def follow(self, number: int) -> list[Credit]:
        """Return the credits that a step has to show, which has taken decision `number`."""
        credits = []
        if self.relocates and self.subject in self.live:
            credits.append(Credit(self.live.pop(self.subject), 1.0, number))
        target = int(self.state.logical["ppn"][0, self.lpn])
        if target < 0 or (not self.relocates and target in self.live):  # dead from the start
            (target,) = np.flatnonzero(self.state.physical[0] != self.physical)
        clock = int(self.state.control["clock"][0, 0])
        self.live[int(target)] = number
        held = np.fromiter(self.live, np.int64)
        for page in held[self.state.logical["ppn"][0][self.state.physical["lpn"][0][held]] != held].tolist():
            self.dead[page] = (self.live.pop(page), clock)
        per_sub_block = int(self.state.params["pages_per_sub_block"][0, 0])
        erased = np.flatnonzero(self.state.sub_block["erases"][0] != self.erases)
        for page in [page for page in self.dead if page // per_sub_block in erased] if len(erased) else ():
            decision, died = self.dead.pop(page)
            credits.append(Credit(decision, (clock - died) * RENT, -1))
        self.look()
        return credits


#: Parts of a block are erased, and the pages beside them are moved, too.
SUB_BLOCKS = {
    "geometry": {"sub_blocks_per_block": 4, "pages_per_block": 8, "blocks_per_plane": 20},
    "erase_unit": "sub_block_run",
}


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize(
    "fields", [{}, {"placement": "dac"}, SUB_BLOCKS], ids=["sep_gc", "dac", "sub-blocks"]
)
def test_credits__of_random_decisions__are_those_of_the_books(timing: str, fields: dict[str, Any]) -> None:
    victims = "gsm" if "erase_unit" in fields else "greedy"
    env = PlacementEnv(**arguments(spacious(timing, **fields), victims=victims))
    _, info = env.reset(seed=SEED)
    books, rng, over, number, moves = Books(env), np.random.default_rng(0), False, 0, 0
    while not over:
        assert info["decision"] == number
        over, info = env.step(rng.integers(env.action_space.n))[3:]
        assert sorted(info["credits"]) == sorted(books.follow(number))
        moves += sum(int(credit.cost) for credit in info["credits"])
        number += 1
    assert moves == info["metrics"]["relocated_pages"] > 100
    assert number == HORIZON + moves


def played(answer: Any, pages: str, timing: str) -> tuple[PlacementEnv, list[bool], list[Credit]]:
    """An episode whose host pages, or relocated ones, go where `answer` says, and the others by the rule.

    Returns:
        The environment, whether each decision was about a relocated page, and all credits.
    """
    env = PlacementEnv(**arguments(spacious(timing, "dac"), pages=pages))
    _, info = env.reset(seed=SEED)
    over, relocated, credits = False, [], []
    while not over:
        relocated.append(env.episodes.kind_asked(0) == RELOCATE)
        over, info = env.step(answer(info, relocated))[3:]
        credits += info["credits"]
    return env, relocated, credits


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("pages", ["host", "relocated"])
def test_credits__where_a_rule_takes_the_other_decisions__what_those_of_all_add_up_to(
    pages: str, timing: str
) -> None:
    own = pages == "relocated"

    def mostly_at_random(info: dict[str, Any], relocated: list[bool]) -> int:
        """Answer the same for the k-th decision about such a page, whoever takes the others."""
        k = sum(kind == own for kind in relocated)
        return k * 2654435761 % 2**32 % 6 if relocated[-1] == own else int(info["proposed"][0])

    some, _, credits = played(mostly_at_random, pages, timing)
    every, relocated, of_all = played(mostly_at_random, "both", timing)
    for name in ("logical", "physical", "counters"):
        assert np.array_equal(getattr(some.episodes.state, name), getattr(every.episodes.state, name))
    numbers = np.cumsum([kind == own for kind in relocated]) - 1
    by_decision = {credit.decision: credit for credit in of_all}
    expected = []
    for decision, cost, following in of_all:
        if relocated[decision] != own:
            continue
        while pages == "host" and following in by_decision:
            cost, following = cost + by_decision[following].cost, by_decision[following].following
        if pages == "relocated" or following < 0:
            after = numbers[following] if following >= 0 else -1
            expected.append(Credit(int(numbers[decision]), cost, int(after)))
    assert len(credits) > 100 and max(credit.cost for credit in credits) >= 1.0
    assert sorted(credits) == sorted(expected)


@pytest.mark.parametrize("timing", ["none", "event"])
@pytest.mark.parametrize("pages", ["host", "relocated", "both"])
def test_device_and_observations__with_credit_and_without__the_same(pages: str, timing: str) -> None:
    options = arguments(spacious(timing), pages=pages, preconditioning="workload", warmup=100, horizon=500)
    with_credit, without = PlacementEnv(**options), PlacementEnv(**{**options, "credit": None})
    for env in (with_credit, without):
        _, info = env.reset(seed=SEED)
    assert "decision" not in info and "credits" not in info
    rng, over = np.random.default_rng(0), False
    while not over:
        action = rng.integers(without.action_space.n)
        seen, reward, _, over, info = without.step(action)
        seen_with, reward_with, *_, info_with = with_credit.step(action)
        assert_same(seen, seen_with)
        shown = {name: value for name, value in info_with.items() if name not in ("decision", "credits")}
        assert (reward, info["terms"]) == (reward_with, shown["terms"])
    for name in set(without.episodes.state._fields) - {"params", "block_memory", "memory"}:
        ours, others = getattr(with_credit.episodes.state, name), getattr(without.episodes.state, name)
        assert np.array_equal(ours, others), name


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_vector__of_devices_of_two_sizes__what_gymnasium_makes_of_single_ones(mode: str) -> None:
    models = [spacious("event"), spacious(geometry={"pages_per_block": 6})]
    options = arguments(horizon=300, preconditioning="workload", features=["stream_valid", "page_age"])

    def single(k: int) -> Any:
        return lambda: PlacementEnv(**{**options, "device": models[k]})

    ours = PlacementVectorEnv(2, **{**options, "device": models}, autoreset_mode=mode)
    theirs = SyncVectorEnv([single(0), single(1)], autoreset_mode=ours.autoreset_mode)
    pairs = [(ours.reset(seed=3), theirs.reset(seed=3))]
    rng, rows = np.random.default_rng(0), 0
    for _ in range(1200):
        actions = rng.integers(ours.single_action_space.n, size=2)
        pairs.append((ours.step(actions), theirs.step(actions)))
        rows += sum(map(len, pairs[-1][0][-1]["credits"]))
    for one, other in pairs:
        for infos in (one[-1], other[-1]):
            for found in (infos, infos.get("final_info", {})):
                found.get(
                    "metrics", {}
                ).clear()  # the memory of rules is as large as the largest device needs
        assert_same(one, other)
    assert rows > 100 and any("final_info" in pair[0][-1] for pair in pairs) == (mode == "SameStep")


def test_episode__begun_anew__counts_from_0_and_owes_nothing() -> None:
    env = PlacementEnv(**arguments())
    runs = []
    for _ in range(2):
        _, info = env.reset(seed=SEED)
        assert (info["decision"], info["credits"]) == (0, [])
        rng = np.random.default_rng(0)
        runs.append([env.step(rng.integers(2))[-1]["credits"] for _ in range(1000)])
    assert runs[0] == runs[1] and any(runs[0])


def test_pickled__in_the_middle_of_an_episode__goes_on_with_the_same_credits() -> None:
    env = PlacementEnv(**arguments())
    env.reset(seed=SEED)
    rng = np.random.default_rng(0)
    for _ in range(1000):
        env.step(rng.integers(2))
    other = pickle.loads(pickle.dumps(env))
    found = []
    for _ in range(1000):
        action = rng.integers(2)
        infos = [each.step(action)[-1] for each in (env, other)]
        assert_same(*infos)
        found += infos[0]["credits"]
    assert len(found) > 100


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"credit": {"price": 1}}, "credit must be None or a price, a number from 0 up, not {'price': 1}"),
        ({"credit": True}, "credit must be None or a price, a number from 0 up, not True"),
        ({"credit": -1}, "credit must be None or a price, a number from 0 up, not -1"),
        ({"credit": float("nan")}, "a number from 0 up, not nan"),
        ({"per": "request"}, "per = 'request' takes one for several; set per to 'page'"),
        ({"ftl": {"levelling": "dual_pool"}}, "about which there is no decision to credit; leave credit or"),
    ],
    ids=str,
)
def test_arguments__that_do_not_fit__said_so(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        PlacementEnv(**arguments(**changes))


def test_decision_arguments__without_credit__which_is_for_training() -> None:
    assert "credit" not in PlacementEnv.options_type.decision_arguments()


@pytest.mark.parametrize("mode", [None, "SameStep", "NextStep"])
def test_buffer__joins_what_was_seen_and_done_to_what_it_cost(mode: str | None) -> None:
    """Every decision sees its environment, its episode and its number, and so does what follows."""
    options = arguments(horizon=300, preconditioning="workload")
    envs = PlacementEnv(**options) if mode is None else PlacementVectorEnv(2, **options, autoreset_mode=mode)
    count = 1 if mode is None else 2
    _, infos = envs.reset(seed=SEED)
    buffer, rng = CreditBuffer(5000, (3,)), np.random.default_rng(0)
    episodes, expected = np.full(count, -1), []
    for _ in range(900):
        decisions = np.atleast_1d(infos["decision"])
        episodes += decisions == 0
        seen = np.column_stack([np.arange(count), episodes, decisions])
        actions = decisions * 7 % 2
        buffer.note(infos, seen if mode else seen[0], actions if mode else actions[0])
        _, _, _, over, infos = envs.step(actions if mode else actions[0])
        for found in (infos.get("final_info", {}), infos):
            rows = found.get("credits", []) if mode else [found.get("credits", [])]
            expected += [(i, int(episodes[i]), *credit) for i, own in enumerate(rows) for credit in own or ()]
        buffer.join(infos)
        if mode is None and over:
            infos = envs.reset()[1]
    assert len(buffer) == buffer.joined == len(expected) > 100 and episodes.min() > 0
    found = buffer.newest(10_000)
    assert np.array_equal(found.seen, [row[:3] for row in expected])
    assert np.array_equal(found.actions, found.seen[:, 2] * 7 % 2)
    assert np.array_equal(found.costs, np.float32([row[3] for row in expected]))
    assert np.array_equal(found.done, [row[4] < 0 for row in expected])
    assert np.array_equal(
        found.following[~found.done], [(*row[:2], row[4]) for row in expected if row[4] >= 0]
    )
    assert not found.following[found.done].any() and 0 < found.done.mean() < 1
    drawn = buffer.sample(64, rng)
    assert {tuple(row) for row in drawn.seen} <= {tuple(row) for row in found.seen}


def test_buffer__some_environments_reset__keeps_the_decisions_of_the_others() -> None:
    envs = PlacementVectorEnv(2, **arguments(preconditioning="workload"), autoreset_mode="Disabled")
    _, infos = envs.reset(seed=SEED)
    buffer, joined, own = CreditBuffer(5000, (2,)), 0, np.zeros(2, int)
    for step in range(600):
        own[1] = step
        buffer.note(infos, np.column_stack([[0, 1], own]), np.zeros(2, int))
        *_, infos = envs.step(np.full(2, step % 2))
        buffer.join(infos)
        for credit in infos["credits"][1]:
            joined += 1
            found = buffer.newest(1 + len(infos["credits"][1]))
            assert [1.0, credit.decision] in found.seen.tolist()
        if step % 50 == 49:
            _, infos = envs.reset(options={"reset_mask": np.array([True, False])})
    assert joined > 50


def test_buffer__full__keeps_the_newest() -> None:
    buffer = CreditBuffer(3, ())
    for k in range(5):
        buffer.note({"decision": k}, np.float32(k), k)
    buffer.join(
        {
            "decision": 5,
            "credits": [Credit(0, 1.0, 4), Credit(1, 0.5, -1), Credit(2, 0.0, -1), Credit(3, 2.0, -1)],
        }
    )
    assert (len(buffer), buffer.joined) == (3, 4)
    assert buffer.newest(2).seen.tolist() == [2.0, 3.0]
    assert buffer.newest(9).costs.tolist() == [0.5, 0.0, 2.0]
