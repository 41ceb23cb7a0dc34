"""The network of PPO computes what `CandidateScorer` computes, and the same gradient."""

import numpy as np
import pytest
import torch

from ssdgym.agents.card import ScorerConfig
from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.training.ppo_network import Decisions, Minibatch, Network
from ssdgym.types import Observation

FEATURES = ("log_benefit", "log_age", "a", "b", "c")
COUNT, CHOICES = 40, 7


def make_scorer(**fields: object) -> CandidateScorer:
    torch.manual_seed(0)
    scorer = CandidateScorer(FEATURES, ("d", "e"), ScorerConfig.model_validate(fields))
    with torch.no_grad():
        for parameter in scorer.parameters():  # no layer is left at zero
            parameter.add_(0.1 * torch.randn_like(parameter))
    return scorer


def make_observation(share_valid: float) -> Observation:
    rng = np.random.default_rng(1)
    candidates = rng.standard_normal((COUNT, CHOICES, len(FEATURES)), np.float32)
    candidates[:, 1] = candidates[:, 0]  # equal candidates share what the maximum hands back
    mask = rng.random((COUNT, CHOICES)) < share_valid
    mask[:, 3] = True
    context = rng.standard_normal((COUNT, 2), np.float32)
    return {"candidates": candidates, "context": context, "action_mask": mask.astype(np.int8)}


def plain(scorer: CandidateScorer, observation: Observation) -> tuple[torch.Tensor, torch.Tensor]:
    """Return scores (B, K) and values (B,) by the scorer itself, with gradients by PyTorch."""
    arguments = [torch.from_numpy(observation[key]) for key in ("candidates", "context", "action_mask")]
    return scorer(*arguments), scorer.value(*arguments).squeeze(-1)


def gradient_by_hand(network: Network, minibatch: Minibatch, *gradients: torch.Tensor) -> torch.Tensor:
    network.refresh()
    with torch.no_grad():
        network.actor.scores(minibatch)
        network.critic.values(minibatch)
        network.backward(minibatch, *gradients)
        network.finish()
    assert network.parameters.grad is not None
    return network.parameters.grad.clone()


@pytest.mark.parametrize("share_valid", [1.1, 0.5])
@pytest.mark.parametrize("pooling", ["mean_max", "none"])
@pytest.mark.parametrize("hidden", [(16,), (16, 8), (16, 8, 12)])
def test_network__scores_values_and_gradients__equal_those_of_the_scorer(
    hidden: tuple[int, ...], pooling: str, share_valid: float
) -> None:
    scorer, observation = make_scorer(hidden=hidden, pooling=pooling), make_observation(share_valid)
    scores, values = plain(scorer, observation)
    shares = (scores.log_softmax(-1).clamp(min=-50) * torch.randn(COUNT, CHOICES)).sum(-1)
    loss = (shares + values * torch.randn(COUNT)).mean()
    # the gradients of the loss by scores and values, from which the network goes on by hand
    of_scores, of_values = torch.autograd.grad(loss, (scores, values), retain_graph=True)
    by_pytorch = torch.autograd.grad(loss, list(scorer.parameters()))

    network = Network(scorer)
    decisions = Decisions.of(scorer, observation)
    minibatch = decisions.whole(network.arrays)
    torch.testing.assert_close(network.actor.scores(minibatch).t(), scores, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(network.actor.scores_as_kept(decisions), scores, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(network.critic.values(minibatch), values, rtol=1e-5, atol=1e-5)
    found = gradient_by_hand(network, minibatch, of_scores.t(), of_values)
    expected = torch.cat([gradient.flatten() for gradient in by_pytorch])
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_network__gradients_of_two_minibatches__add_up() -> None:
    scorer, observation = make_scorer(), make_observation(0.5)
    network, decisions = Network(scorer), Decisions.of(scorer, observation)
    of_scores, of_values = torch.randn(CHOICES, COUNT) / COUNT, torch.randn(COUNT) / COUNT
    whole = gradient_by_hand(network, decisions.whole(network.arrays), of_scores, of_values)
    network.refresh()
    with torch.no_grad():
        for rows in torch.randperm(COUNT).split(25):
            minibatch = decisions.take(rows, network.arrays)
            network.actor.scores(minibatch)
            network.critic.values(minibatch)
            network.backward(minibatch, of_scores[:, rows], of_values[rows])
        network.finish()
    torch.testing.assert_close(network.parameters.grad, whole, rtol=1e-5, atol=1e-5)


def test_network__step_on_its_vector__changes_the_scorer() -> None:
    scorer, observation = make_scorer(), make_observation(0.5)
    network = Network(scorer)
    optimizer = torch.optim.SGD([network.parameters], lr=0.1)
    minibatch = Decisions.of(scorer, observation).whole(network.arrays)
    gradient_by_hand(network, minibatch, torch.randn(CHOICES, COUNT), torch.randn(COUNT))
    before = network.actor.scores(minibatch)
    optimizer.step()
    network.refresh()
    after = network.actor.scores(minibatch).t()
    assert not torch.isclose(after, before.t()).all()
    torch.testing.assert_close(after, plain(scorer, observation)[0].detach(), rtol=1e-5, atol=1e-5)


def test_clip__norm_above_the_limit__is_shortened_to_it() -> None:
    network = Network(make_scorer())
    gradient = network.parameters.grad
    assert gradient is not None
    for size, expected in ((3.0, 0.5), (0.1, 0.1)):
        gradient.zero_()[:2] = size / 2**0.5
        network.clip(0.5)
        assert gradient.norm().item() == pytest.approx(expected, rel=1e-4)
