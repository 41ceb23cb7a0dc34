"""The scorer treats candidates alike, whatever their order and number, and starts at a heuristic."""

import pytest
import torch

from ssdgym.agents.card import ScorerConfig
from ssdgym.agents.networks import MASKED_SCORE, CandidateScorer
from ssdgym.errors import SsdgymError

CANDIDATE_FEATURES = ("valid_share", "log_age", "log_benefit", "wear")
CONTEXT_FEATURES = ("free_share", "over_provisioning")
BENEFIT, AGE = 2, 1


def make_scorer(trained: bool = True, **config) -> CandidateScorer:
    torch.manual_seed(0)
    scorer = CandidateScorer(CANDIDATE_FEATURES, CONTEXT_FEATURES, ScorerConfig(**config))
    if trained:  # as if: no weight is at its special initial value
        with torch.no_grad():
            for parameter in scorer.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
    return scorer


def make_decisions(batch: int = 32, candidates: int = 7) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    mask = torch.rand(batch, candidates) < 0.6
    mask[:, 0] = True
    return torch.randn(batch, candidates, 4), torch.randn(batch, 2), mask.to(torch.int8)


@pytest.mark.parametrize("pooling", ["mean_max", "none"])
def test_scorer__permuted_candidates__permuted_scores_and_same_value(pooling: str) -> None:
    scorer = make_scorer(pooling=pooling)
    candidates, context, mask = make_decisions()
    order = torch.randperm(candidates.shape[1])

    scores = scorer(candidates, context, mask)
    permuted = scorer(candidates[:, order], context, mask[:, order])

    torch.testing.assert_close(permuted, scores[:, order])
    torch.testing.assert_close(
        scorer.value(candidates[:, order], context, mask[:, order]), scorer.value(candidates, context, mask)
    )


@pytest.mark.parametrize("pooling", ["mean_max", "none"])
def test_scorer__more_masked_candidates__same_scores_and_value(pooling: str) -> None:
    scorer = make_scorer(pooling=pooling)
    candidates, context, mask = make_decisions()
    padded = torch.cat([candidates, 100 * torch.randn(32, 9, 4)], dim=1)
    padded_mask = torch.cat([mask, torch.zeros(32, 9, dtype=torch.int8)], dim=1)

    scores = scorer(padded, context, padded_mask)

    torch.testing.assert_close(scores[:, :7], scorer(candidates, context, mask))
    assert (scores[:, 7:] == MASKED_SCORE).all()
    torch.testing.assert_close(
        scorer.value(padded, context, padded_mask), scorer.value(candidates, context, mask)
    )


def test_scorer__pooling__sees_the_other_candidates_and_none_does_not() -> None:
    candidates, context, _ = make_decisions()
    mask = torch.ones(32, 7, dtype=torch.int8)
    changed = candidates.clone()
    changed[:, 6] += 1.0

    def change_of_first(scorer: CandidateScorer) -> float:
        return (scorer(changed, context, mask) - scorer(candidates, context, mask))[:, 0].abs().max().item()

    assert change_of_first(make_scorer(pooling="mean_max")) > 1e-3
    assert change_of_first(make_scorer(pooling="none")) == 0.0


@pytest.mark.parametrize(
    ("start", "columns"), [("cost_benefit", [BENEFIT, AGE]), ("greedy", [BENEFIT])], ids=lambda x: str(x)
)
def test_scorer__untrained__ranks_as_its_start(start: str, columns: list[int]) -> None:
    scorer = make_scorer(trained=False, start=start)
    candidates, context, mask = make_decisions()

    scores = scorer(candidates, context, mask)

    log_score = candidates[..., columns].sum(dim=-1).masked_fill(mask == 0, -torch.inf)
    assert torch.equal(scores.argsort(dim=1, descending=True)[:, 0], log_score.argmax(dim=1))
    torch.testing.assert_close(
        scores[mask == 1], ScorerConfig().sharpness * log_score[mask == 1], atol=1e-4, rtol=1e-5
    )


def test_scorer__start_none__is_indifferent_and_needs_no_special_feature() -> None:
    scorer = CandidateScorer(("anything",), ("context",), ScorerConfig(start="none"))
    scores = scorer(torch.randn(4, 3, 1), torch.randn(4, 1), torch.ones(4, 3))
    assert (scores == 0).all()


def test_scorer__start_without_its_feature__says_so() -> None:
    with pytest.raises(
        SsdgymError, match="'cost_benefit' needs the candidate feature 'log_age'.*start: none"
    ):
        CandidateScorer(("log_benefit",), ("context",), ScorerConfig(start="cost_benefit"))


def test_scorer__no_valid_candidate__finite() -> None:
    scorer = make_scorer()
    candidates, context, mask = make_decisions()
    nothing = torch.zeros_like(mask)
    assert torch.isfinite(scorer.value(candidates, context, nothing)).all()
    assert (scorer(candidates, context, nothing) == MASKED_SCORE).all()
