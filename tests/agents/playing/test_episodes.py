"""One whole episode in every environment is played, and watched."""

import numpy as np

from ssdgym.agents.playing.agents import RandomAction, play
from ssdgym.agents.training.config import EnvironmentConfig, make_environment
from ssdgym.envs.sb3 import SB3VecEnv


def test_play__infos_at_the_ends_of_the_first_episodes(toy) -> None:
    episodes = play(RandomAction(), SB3VecEnv(toy), first_seed=3)
    assert len(episodes) == toy.num_envs
    assert all(episode["episode"]["l"] == toy.horizon for episode in episodes)
    assert all("last_reward" in episode["metrics"] for episode in episodes)


def test_play__same_seed__same_episodes_draws_included(toy) -> None:
    env = SB3VecEnv(toy)
    first, again, other = (
        [episode["episode"]["r"] for episode in play(RandomAction(), env, seed)] for seed in (3, 3, 4)
    )
    assert first == again != other


def test_play__watched__every_step_before_it_is_taken(toy) -> None:
    seen: list[tuple[int, ...]] = []

    def watch(observation, infos, actions, counting) -> None:
        assert observation["action_mask"][np.arange(toy.num_envs), actions].all()
        seen.append(tuple(counting))

    play(RandomAction(), SB3VecEnv(toy), 3, watch)
    assert seen == [tuple(range(toy.num_envs))] * toy.horizon


def test_play__episodes_of_different_length__only_the_first_of_each_environment_counts() -> None:
    env = make_environment(EnvironmentConfig(), 2, ftl={"timing": "none"}, horizon=512, device="demo")
    counted = np.zeros(2, np.int64)

    def watch(observation, infos, actions, counting) -> None:
        counted[counting] += 1

    episodes = play(RandomAction(), env, 1, watch)
    assert counted.tolist() == [episode["metrics"]["gc_invocations"] for episode in episodes]
    assert counted[0] != counted[1]
