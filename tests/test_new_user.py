"""What a new user plugs in: an agent, a feature, a workload, an objective, a trace, a replay buffer.

Nothing here reaches into the package: every import stands in the pages of `docs`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import ssdgym  # noqa: F401
from ssdgym.cli import main
from ssdgym.envs.features import feature
from ssdgym.envs.rewards import reward_term
from ssdgym.workloads import page_writes

ENV_ID = "ssdgym/EraseVictim-v0"
UNTIMED = {"timing": "none"}
PAGE = 4096


def made(**arguments: Any) -> gym.Env:
    return gym.make(ENV_ID, **{"device": "tiny", "ftl": UNTIMED, "horizon": 200, **arguments})


def made_vector(count: int, **arguments: Any) -> gym.vector.VectorEnv:
    arguments = {"device": "tiny", "ftl": UNTIMED, "horizon": 200, **arguments}
    return gym.make_vec(ENV_ID, num_envs=count, autoreset_mode="SameStep", **arguments)


def play(env: gym.Env, seed: int, proposer: int = 0) -> tuple[list[float], list[dict[str, Any]]]:
    """The rewards and the infos of an episode that takes what a proposer would."""
    _, info = env.reset(seed=seed)
    rewards, infos, over = [], [], False
    while not over:
        _, reward, _, over, info = env.step(info["proposed"][proposer])
        rewards.append(float(reward))
        infos.append(info)
    return rewards, infos


# An agent

MY_AGENTS = '''
import numpy as np


class OldAndEmpty:
    """Take the candidate with the best sum of two features."""

    def __init__(self, env, age=1.0):
        names = env.metadata["features"]["candidates"]
        self.columns = [names.index("log_benefit"), names.index("log_age")]
        self.weights = np.array([1.0, age])

    def act(self, observation, mask, rng):
        scores = observation["candidates"][..., self.columns] @ self.weights
        return np.where(mask, scores, -np.inf).argmax(axis=-1)
'''


def test_agent__beside_random_actions_and_a_policy__is_measured_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a_new_users_agents.py").write_text(MY_AGENTS)
    monkeypatch.chdir(tmp_path)
    agent = "a_new_users_agents:OldAndEmpty(age=0.5)"
    options = "--device tiny --workload zipf99 --policy greedy --seeds 1-2 --host-pages 600 --ftl timing=none"
    command = ["evaluate", *options.split(), "--agent", agent, "--agent", "random_action"]
    assert main([*command, "--workers", "1", "--out", "out", "--json"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    runs = {(result["policy"], result["seed"]) for result in results}
    assert runs == {(policy, seed) for policy in (agent, "random_action", "greedy") for seed in (1, 2)}
    assert all(result["metrics"]["host_pages_written"] == 600 for result in results)
    assert all(result["metrics"]["lost_pages"] == 0 for result in results)
    assert main(["replay", "out", "--where", f"policy={agent},seed=1", "--trust"]) == 0


# A feature


def test_feature__single_and_vector__the_same_values(own_registrations: None) -> None:
    @feature(high=8)
    def won(view, candidate, decision):
        """Return the invalid pages, in blocks."""
        return candidate.invalid / view.params[0].pages_per_block

    @feature(high=1000)
    def rounds(view, decision):
        """Return the rounds of collection so far; clipped."""
        return min(view.counters[0].gc_invocations, 1000)

    features = ["default", "gain", "won", "rounds"]
    env, vector = made(features=features), made_vector(2, features=features)
    names = env.metadata["features"]
    gain, mine = (names["candidates"].index(name) for name in ("gain", "won"))
    observation, info = env.reset(seed=4)
    observations, infos = vector.reset(seed=[4, 5])
    for step in range(12):
        for key, array in observation.items():
            np.testing.assert_array_equal(array, observations[key][0])
        valid = observation["action_mask"] != 0
        np.testing.assert_array_equal(
            observation["candidates"][valid, mine], observation["candidates"][valid, gain]
        )
        assert observation["context"][names["context"].index("rounds")] == step
        observation, _, _, _, info = env.step(info["proposed"][0])
        observations, _, _, _, infos = vector.step(infos["proposed"][:, 0])


# A workload


def moving_hot_spot(seed: int, logical_pages: int) -> Iterator[np.ndarray]:
    """Writes to a hot tenth of the pages that moves on, for ever."""
    rng = np.random.default_rng(seed)
    while True:
        first = rng.integers(logical_pages)
        yield page_writes((first + rng.integers(0, logical_pages // 10, 100)) % logical_pages)


@pytest.mark.parametrize(
    "workload",
    [page_writes(np.random.default_rng(0).integers(0, 500, 2000)), moving_hot_spot],
    ids=["array", "function"],
)
def test_workload_from_python__single_and_vector__the_seed_decides(workload: Any) -> None:
    env, vector = made(workload=workload), made_vector(2, workload=workload)
    rewards, infos = play(env, 1)
    assert infos[-1]["metrics"]["host_pages_written"] == 200
    assert infos[-1]["metrics"]["lost_pages"] == 0
    assert play(env, 1)[0] == rewards
    assert play(env, 2)[0] != rewards
    _, told = vector.reset(seed=[1, 2])
    for expected in rewards:
        _, got, _, _, told = vector.step(told["proposed"][:, 0])
        assert got[0] == expected


# An objective


def test_objective__own_function_and_terms_of_weight_0__a_vector_of_rewards(own_registrations: None) -> None:
    @reward_term("slow", "latency of reads and writes in ms, and tenths of the pages moved", needs_time=True)
    def slow(device):
        return {"read_latency_sum_ns": 1e-6, "write_latency_sum_ns": 1e-6, "relocated_pages": 0.1}

    objective = {"slow": 1.0, "relocations": 0.0, "wear": 0.0}
    env = made(ftl={}, objective=objective, reward="plain")
    rewards, infos = play(env, 1)
    vectors = np.array([[info["terms"][name] for name in objective] for info in infos])
    assert rewards == vectors[:, 0].tolist()
    metrics = infos[-1]["metrics"]
    taken = metrics["latency_ns"]["mean"] * metrics["latency_ns"]["count"] / 1e6
    total, relocations, wear = vectors.sum(axis=0)
    assert total == pytest.approx(-taken - 0.1 * metrics["relocated_pages"])
    assert relocations == pytest.approx(-metrics["relocated_pages"] / 16)
    assert wear == pytest.approx(-metrics["erases"])

    envs = made_vector(2, ftl={}, objective=objective, reward="plain")
    _, told = envs.reset(seed=[1, 2])
    for expected in vectors:
        _, got, _, truncated, told = envs.step(told["proposed"][:, 0])
        ended = told["final_info"] if truncated[0] else told
        assert got[0] == expected[0]
        assert [ended["terms"][name][0] for name in objective] == expected.tolist()
    assert truncated[0]


# A trace


@pytest.fixture
def trace(tmp_path: Path, own_cache: Path) -> Path:
    """A trace of 800 requests to 300 pages: writes, then reads and writes in turn."""
    rng = np.random.default_rng(1)
    lines = [
        f"{1000 + 10 * n},host,0,{'Read' if n >= 400 and n % 2 else 'Write'},{PAGE * page},{PAGE},1\n"
        for n, page in enumerate(rng.integers(0, 300, 800))
    ]
    path = tmp_path / "trace.csv"
    path.write_text("".join(lines))
    return path


def part(trace: Path, window: list[float], **changes: Any) -> gym.Env:
    workload = {"kind": "trace", "path": str(trace), "window": window, **changes}
    return made(workload=workload, size_to_trace=True, at_end="truncate" if changes else "wrap")


def test_trace__on_a_device_of_its_size__seeds_differ_and_windows_split_it(trace: Path) -> None:
    training, test = part(trace, [0, 0.5]), part(trace, [0.5, 1])
    rewards, infos = play(training, 1)
    assert play(training, 1)[0] == rewards
    assert play(training, 2)[0] != rewards
    assert infos[-1]["metrics"]["host_reads"] == 0
    assert play(test, 1)[1][-1]["metrics"]["host_reads"] > 0


def test_trace__from_its_first_request_to_its_end__truncates_the_episode(trace: Path) -> None:
    env = part(trace, [0.8, 1], start="first")
    metrics = play(env, 1)[1][-1]["metrics"]
    assert (metrics["host_pages_written"], metrics["host_reads"]) == (80, 80)


def test_device__changed_in_some_fields__by_dotted_names() -> None:
    env = made(device={"base": "tiny", "geometry.blocks_per_plane": 40}, ftl={**UNTIMED, "gc.free_blocks": 3})
    assert play(env, 1)[1][-1]["metrics"]["lost_pages"] == 0


# Learning


def test_random_actions__valid_ones_end_an_episode_without_loss() -> None:
    env = made()
    observation, info = env.reset(seed=1)
    env.action_space.seed(1)
    over = False
    while not over:
        action = env.action_space.sample(mask=observation["action_mask"].astype(np.int8))
        observation, _, _, over, info = env.step(action)
    assert info["metrics"]["lost_pages"] == 0


def test_replay_buffer__over_the_vector_environment__keeps_what_single_ones_observe() -> None:
    envs = made_vector(2)
    buffer: deque[tuple[Any, ...]] = deque(maxlen=1000)
    observations, _ = envs.reset(seed=[5, 6])
    rng = np.random.default_rng(0)
    ended = 0
    while ended < 2:
        actions = [rng.choice(np.flatnonzero(mask)) for mask in observations["action_mask"]]
        following, rewards, _, truncated, infos = envs.step(actions)
        for one in range(2):
            last = infos["final_obs"][one] if truncated[one] else {k: v[one] for k, v in following.items()}
            before = {key: array[one] for key, array in observations.items()}
            buffer.append((one, before, actions[one], rewards[one], truncated[one], last))
        ended += truncated.sum()
        observations = following

    singles = [made(), made()]
    seen: list[Any] = [env.reset(seed=seed)[0] for env, seed in zip(singles, (5, 6), strict=True)]
    playing = [True, True]
    for one, before, action, reward, over, after in buffer:
        if playing[one]:
            same(before, seen[one])
            seen[one], expected, _, truncated, _ = singles[one].step(action)
            assert (reward, over) == (expected, truncated)
            same(after, seen[one])
            playing[one] = not over
    assert not any(playing)


def same(observation: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for key, array in expected.items():
        np.testing.assert_array_equal(observation[key], array)
