"""An update makes good actions likelier, and stops where it has gone too far."""

import torch
from sb3_contrib import MaskablePPO

from ssdgym.agents.training.config import FastPpoConfig
from ssdgym.agents.training.ppo_learner import Batch, update
from ssdgym.agents.training.ppo_network import Decisions, Network


def shares(network: Network, batch: Batch[Decisions]) -> torch.Tensor:
    """Return how likely the network of now chooses each candidate, (B, K)."""
    network.refresh()
    return network.actor.scores_as_kept(batch.decisions).softmax(-1)


def test_update__makes_good_actions_likelier_and_masked_ones_never_possible(
    model: MaskablePPO, batch: Batch[Decisions]
) -> None:
    network, mask = Network(model.policy.scorer), batch.decisions.mask
    assert mask is not None
    good = batch.decisions.candidates[:, :, 0] > 0.5
    chosen = good.gather(1, batch.actions.unsqueeze(1)).squeeze(1)
    batch = batch._replace(advantages=torch.where(chosen, 1.0, -1.0))
    before = shares(network, batch)
    optimizer = torch.optim.Adam([network.parameters], lr=0.01)
    config = FastPpoConfig(epochs=4, batch_decisions=16)
    update(network, optimizer, batch, config, torch.Generator().manual_seed(0))
    after = shares(network, batch)
    assert after[good].mean() > before[good].mean() + 0.01
    assert (after[~mask] == 0).all()


def test_update__beyond_the_target_kl__ends(model: MaskablePPO, batch: Batch[Decisions]) -> None:
    network = Network(model.policy.scorer)
    before = network.parameters.detach().clone()
    optimizer = torch.optim.Adam([network.parameters], lr=0.01)
    config = FastPpoConfig(batch_decisions=16, target_kl=1e-6)
    update(network, optimizer, batch, config, torch.Generator().manual_seed(0))
    torch.testing.assert_close(network.parameters.detach(), before)
