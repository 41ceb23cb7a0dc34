"""The policy respects the mask of the observation, and nothing else is needed."""

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO


def to_tensors(observation: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    return {key: torch.as_tensor(value) for key, value in observation.items()}


@pytest.fixture
def model(maskable_ppo: MaskablePPO) -> MaskablePPO:
    return maskable_ppo


@pytest.mark.parametrize("use_masking", [True, False])
def test_ppo__thousands_of_sampled_actions__all_valid(model, toy, use_masking: bool) -> None:
    model.learn(2048, use_masking=use_masking)  # the toy raises at an invalid action
    assert toy.actions_seen.sum() == 2048
    assert (toy.actions_seen > 0).all()


def test_ppo__given_masks__narrow_those_of_the_observation(model, toy) -> None:
    observation = to_tensors(toy.reset(seed=0)[0])
    observation["action_mask"][:] = torch.tensor([1, 1, 1, 0, 0])
    distribution = model.policy.get_distribution(observation, np.tile([0, 1, 1, 1, 1], (8, 1)))
    probabilities = distribution.distribution.probs
    assert (probabilities[:, [0, 3, 4]] == 0).all()
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(8))


def test_policy__sb3_save_and_load__same_actions(model, toy, tmp_path) -> None:
    model.save(tmp_path / "model")
    loaded = MaskablePPO.load(tmp_path / "model")
    observation, _ = toy.reset(seed=5)
    np.testing.assert_array_equal(
        loaded.predict(observation, deterministic=True)[0], model.predict(observation, deterministic=True)[0]
    )
