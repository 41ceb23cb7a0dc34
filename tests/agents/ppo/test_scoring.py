"""The quick scorer computes what `CandidateScorer` computes, and the same gradient."""

import pytest
import torch

from ssdgym.agents.ppo.scoring import Decisions, scores_and_values, scoring_with, values_of
from ssdgym.agents.scorer import CandidateScorer, ScorerConfig

FEATURES = ("log_benefit", "log_age", "a", "b", "c")


def make_scorer(**fields: object) -> CandidateScorer:
    torch.manual_seed(0)
    scorer = CandidateScorer(FEATURES, ("d", "e"), ScorerConfig.model_validate(fields))
    with torch.no_grad():
        for parameter in scorer.parameters():  # no layer is left at zero
            parameter.add_(0.1 * torch.randn_like(parameter))
    return scorer


def make_observation(share_valid: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    candidates = torch.randn(40, 7, len(FEATURES))
    candidates[:, 1] = candidates[:, 0]  # equal candidates share what the maximum hands back
    mask = torch.rand(40, 7) < share_valid
    mask[:, 3] = True
    return candidates, torch.randn(40, 2), mask


@pytest.mark.parametrize("share_valid", [1.1, 0.5])
@pytest.mark.parametrize("pooling", ["mean_max", "none"])
@pytest.mark.parametrize("hidden", [(16,), (16, 8), (16, 8, 12)])
def test_scores_and_values__equal_those_of_the_scorer_with_their_gradients(
    hidden: tuple[int, ...], pooling: str, share_valid: float
) -> None:
    scorer = make_scorer(hidden=hidden, pooling=pooling)
    observation = make_observation(share_valid)
    decisions = Decisions.of(scorer, *observation)
    weights, more = torch.randn(40, 7), torch.randn(40)

    def gradients(scores: torch.Tensor, values: torch.Tensor) -> list[torch.Tensor]:
        scorer.zero_grad()
        ((scores.log_softmax(-1).clamp(min=-50) * weights).sum() + (values * more).sum()).backward()
        return [parameter.grad.clone() for parameter in scorer.parameters()]

    slow = scorer(*observation), scorer.value(*observation).squeeze(-1)
    quick = scores_and_values(scorer, decisions)
    torch.testing.assert_close(quick, slow)
    torch.testing.assert_close((scoring_with(scorer)(decisions), values_of(scorer, decisions)), slow)
    torch.testing.assert_close(gradients(*quick), gradients(*slow), rtol=1e-4, atol=1e-4)
