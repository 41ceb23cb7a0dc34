"""Both policies respect the mask of the observation, online and in the target, and nothing else is needed."""

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.utils import set_random_seed

from ssdgym.agents.features import FeatureNames
from ssdgym.agents.training.algorithms import MaskedDQN, make_algorithm, random_valid_actions
from ssdgym.envs.sb3 import SB3VecEnv


def to_tensors(observation: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    return {key: torch.as_tensor(value) for key, value in observation.items()}


@pytest.fixture
def make_model(toy, make_config):
    def make(algorithm: str, **fields):
        return make_algorithm(make_config(algorithm, **fields), SB3VecEnv(toy), FeatureNames.of(toy))

    return make


@pytest.mark.parametrize("use_masking", [True, False])
def test_ppo__thousands_of_sampled_actions__all_valid(make_model, toy, use_masking: bool) -> None:
    make_model("ppo").learn(4096, use_masking=use_masking)  # the toy raises at an invalid action
    assert toy.actions_seen.sum() == 4096
    assert (toy.actions_seen > 0).all()


@pytest.mark.parametrize("epsilon", [1.0, 0.5])
def test_dqn__thousands_of_explored_actions__all_valid(make_model, toy, epsilon: float) -> None:
    dqn = {"exploration_initial": epsilon, "exploration_final": epsilon, "warm_up_decisions": 1024}
    make_model("dqn", dqn=dqn).learn(4096)
    assert toy.actions_seen.sum() == 4096
    assert (toy.actions_seen > 0).all()


def test_dqn__online_and_target_network__masked(make_model, toy) -> None:
    model = make_model("dqn")
    observation = to_tensors(toy.reset(seed=3)[0])
    invalid = observation["action_mask"] == 0
    for network in (model.q_net, model.q_net_target):
        assert (network(observation)[invalid] < -1e8).all()
        assert (network(observation)[~invalid].abs() < 1e3).all()


def test_dqn__replay__keeps_masks_and_the_final_observation(make_model) -> None:
    model = make_model("dqn")
    model.learn(256)  # two episodes of 16 steps in each of 8 environments
    buffer = model.replay_buffer
    assert buffer.pos == 32
    assert buffer.next_observations["action_mask"][:32].any(axis=-1).all()
    np.testing.assert_array_equal(np.flatnonzero(buffer.dones[:32, 0]), [15, 31])
    np.testing.assert_array_equal(buffer.timeouts[:32], buffer.dones[:32])
    same_episode = buffer.dones[:31, 0] == 0
    following = buffer.observations["candidates"][1:32]
    np.testing.assert_array_equal(
        buffer.next_observations["candidates"][:31][same_episode], following[same_episode]
    )
    assert not np.array_equal(buffer.next_observations["candidates"][15], following[15])


def test_dqn__each_environment_explores_for_itself(make_model, toy) -> None:
    model = make_model("dqn")
    model.exploration_rate = 0.5
    observation, _ = toy.reset(seed=0)
    observation["action_mask"][:] = 1
    greedy, _ = model.predict(observation, deterministic=True)
    set_random_seed(0)
    differing = [(model.predict(observation)[0] != greedy).sum() for _ in range(200)]
    # each of the 8 explores with 1/2 and then differs with 4/5; with one coin for all, there would be no
    # difference half the time
    assert np.mean(differing) == pytest.approx(3.2, abs=0.4)
    assert np.mean(np.equal(differing, 0)) < 0.1


def test_dqn__single_observation__one_action(make_model, toy) -> None:
    observation = {key: value[0] for key, value in toy.reset(seed=0)[0].items()}
    model = make_model("dqn")
    model.exploration_rate = 1.0
    for deterministic in (True, False):
        action, _ = model.predict(observation, deterministic=deterministic)
        assert action.shape == ()
        assert observation["action_mask"][action] == 1


def test_random_valid_actions__uniform_over_the_valid_ones() -> None:
    set_random_seed(0)
    mask = np.tile(np.array([1, 0, 1, 1, 0], dtype=np.int8), (30_000, 1))
    share = np.bincount(random_valid_actions(mask), minlength=5) / len(mask)
    np.testing.assert_allclose(share, [1 / 3, 0, 1 / 3, 1 / 3, 0], atol=0.01)


def test_ppo__given_masks__narrow_those_of_the_observation(make_model, toy) -> None:
    model = make_model("ppo")
    observation = to_tensors(toy.reset(seed=0)[0])
    observation["action_mask"][:] = torch.tensor([1, 1, 1, 0, 0])
    distribution = model.policy.get_distribution(observation, np.tile([0, 1, 1, 1, 1], (8, 1)))
    probabilities = distribution.distribution.probs
    assert (probabilities[:, [0, 3, 4]] == 0).all()
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(8))


@pytest.mark.parametrize(("algorithm", "cls"), [("ppo", MaskablePPO), ("dqn", MaskedDQN)])
def test_policy__sb3_save_and_load__same_actions(make_model, toy, tmp_path, algorithm: str, cls) -> None:
    model = make_model(algorithm)
    model.save(tmp_path / "model")
    loaded = cls.load(tmp_path / "model")
    observation, _ = toy.reset(seed=5)
    np.testing.assert_array_equal(
        loaded.predict(observation, deterministic=True)[0], model.predict(observation, deterministic=True)[0]
    )
