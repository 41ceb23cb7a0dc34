"""An agent survives its file, and files that are no agents of this environment are refused."""

import tracemalloc
import zipfile

import numpy as np
import pytest
import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.card import AgentCard, ScorerConfig
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.training.stages import Stage
from ssdgym.envs.features import Setting, select
from ssdgym.errors import SsdgymError

INSTALLED = FeatureNames(**select("default", Setting(())).features.names())


def make_agent(algorithm: str = "ppo", features: FeatureNames | None = None) -> Agent:
    features = features or INSTALLED
    torch.manual_seed(0)
    config = ScorerConfig(start="none", hidden=(8,))
    scorer = CandidateScorer(features.candidates, features.context, config)
    torch.nn.init.normal_(scorer.score_layer.weight)
    card = AgentCard(
        algorithm=algorithm,
        environment="ssdgym-test/Toy-v0",
        decisions=7,
        candidate_features=features.candidates,
        context_features=features.context,
        scorer=config,
        training={"seed": 3},
    )
    return Agent(scorer, card)


def row(observation: dict[str, np.ndarray], i: int) -> dict[str, np.ndarray]:
    return {key: value[i] for key, value in observation.items()}


def test_agent__saved_and_loaded__same_scores_and_card(toy, tmp_path) -> None:
    agent = make_agent()
    observation, _ = toy.reset(seed=1)
    loaded = Agent.load(agent.save(tmp_path / "agent.zip"), env=toy)
    np.testing.assert_array_equal(loaded.scores(observation), agent.scores(observation))
    assert loaded.card == agent.card
    assert [path.name for path in tmp_path.iterdir()] == ["agent.zip"]


def test_agent__batch_and_single_observations__same_valid_actions(toy) -> None:
    agent = make_agent()
    observation, _ = toy.reset(seed=1)
    actions = agent.act(observation)
    singles = [agent.act(row(observation, i)) for i in range(8)]
    assert singles == actions.tolist()
    assert all(isinstance(action, int) for action in singles)
    assert toy.action_masks()[np.arange(8), actions].all()


def test_agent__equal_scores__first_valid_candidate() -> None:
    agent = make_agent()
    with torch.no_grad():
        for parameter in agent.scorer.parameters():
            parameter.zero_()
    names = agent.card.features
    observation = {
        "candidates": np.zeros((4, len(names.candidates)), dtype=np.float32),
        "context": np.zeros(len(names.context), dtype=np.float32),
        "action_mask": np.array([0, 1, 0, 1], dtype=np.int8),
    }
    assert agent.act(observation) == 1


def test_agent__observation_with_another_feature_count__refused(toy) -> None:
    observation, _ = toy.reset(seed=0)
    wider = {**observation, "candidates": np.zeros((8, 5, 99), dtype=np.float32)}
    with pytest.raises(SsdgymError, match="has 99 candidate and .* trained on"):
        make_agent().act(wider)


def test_load__missing_file__says_so(tmp_path) -> None:
    with pytest.raises(SsdgymError, match="nowhere.zip: there is no such agent"):
        Agent.load(tmp_path / "nowhere.zip")


@pytest.mark.parametrize("content", [b"", b"not a zip file", b"PK\x03\x04 cut short"])
def test_load__not_an_agent__says_so(tmp_path, content: bytes) -> None:
    path = tmp_path / "agent.zip"
    path.write_bytes(content)
    with pytest.raises(SsdgymError, match="agent.zip: not an agent, or a damaged one"):
        Agent.load(path)


def test_load__truncated_or_flipped__says_so(tmp_path) -> None:
    path = make_agent().save(tmp_path / "agent.zip")
    good = path.read_bytes()
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(SsdgymError, match="damaged"):
        Agent.load(path)
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 0xFF  # inside the weights
    path.write_bytes(bytes(flipped))
    with pytest.raises(SsdgymError, match="damaged"):
        Agent.load(path)


def _flag(content: bytearray, place: int, value: int) -> None:
    """Set a byte of the entry of the weights in the directory of a zip, and of the header before them."""
    content[content.rindex(b"PK\x01\x02") + place + 2] = value
    content[content.rindex(b"PK\x03\x04") + place] = value


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [(6, 1, "encrypted"), (8, 99, "neither stored nor deflated"), (8, 8, "Error -3")],
)
def test_load__zip_of_another_kind__says_so(tmp_path, place: int, value: int, said: str) -> None:
    path = make_agent().save(tmp_path / "agent.zip")
    content = bytearray(path.read_bytes())
    _flag(content, place, value)
    path.write_bytes(content)
    with pytest.raises(SsdgymError, match=f"agent.zip: not an agent, or a damaged one .*{said}"):
        Agent.load(path)


def test_load__part_that_would_fill_the_memory__refused_before_it_is_unpacked(tmp_path) -> None:
    path = tmp_path / "agent.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("agent.json", "{}")
        with archive.open("weights.safetensors", "w") as part:
            for _ in range(300):
                part.write(bytes(1 << 20))
    tracemalloc.start()
    with pytest.raises(SsdgymError, match="weights.safetensors has 314,572,800 bytes, and an agent's has"):
        Agent.load(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def rewrite(path, name: str, content: bytes) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for part, old in parts.items():
            archive.writestr(part, content if part == name else old)


def test_load__card_of_another_format__names_the_field(tmp_path) -> None:
    path = make_agent().save(tmp_path / "agent.zip")
    rewrite(
        path, "agent.json", make_agent().card.model_dump_json().replace('"format":3', '"format":99').encode()
    )
    with pytest.raises(SsdgymError, match="agent.json: format"):
        Agent.load(path)


def test_load__pickled_code_as_weights__not_executed(tmp_path) -> None:
    path = make_agent().save(tmp_path / "agent.zip")
    with zipfile.ZipFile(path) as archive:
        card = archive.read("agent.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("agent.json", card)
        archive.writestr("weights.safetensors", b"cos\nsystem\n(S'touch executed'\ntR.")
    with pytest.raises(SsdgymError, match="weights are damaged"):
        Agent.load(path)


def test_card__says_what_trained_the_weights() -> None:
    card = make_agent().card
    clone = Stage(method="clone", decisions=1000, cpu_seconds=2.6)
    ppo = Stage(method="ppo", decisions=20_000, cpu_seconds=40.0)
    found = card.model_copy(update={"trained_by": (clone, ppo)})
    assert card.how_trained == "nothing: it is the untrained network"
    assert found.how_trained == (
        "cloning a policy (1,000 decisions, 3 CPU s), then PPO (20,000 decisions, 40 CPU s), from scratch"
    )


def test_load__trained_on_other_features__names_the_first(toy, tmp_path) -> None:
    other = FeatureNames(("mystery", *INSTALLED.candidates[1:]), INSTALLED.context)
    path = make_agent(features=other).save(tmp_path / "agent.zip")
    with pytest.raises(
        SsdgymError, match=rf"candidates features .*number 0 \('mystery', not '{INSTALLED.candidates[0]}'\)"
    ):
        Agent.load(path, env=toy)


def test_load__features_in_another_order_or_fewer__matched_by_name(toy, tmp_path) -> None:
    """The agent sees the columns it was trained on, wherever the environment has them."""
    few = FeatureNames(("log_age", "wear", "log_benefit"), ("open_room",))
    agent = make_agent(features=few)
    observation, _ = toy.reset(seed=1)
    candidates, context = INSTALLED.candidates, INSTALLED.context
    selected = {
        "candidates": observation["candidates"][..., [candidates.index(name) for name in few.candidates]],
        "context": observation["context"][..., [context.index("open_room")]],
        "action_mask": observation["action_mask"],
    }
    loaded = Agent.load(agent.save(tmp_path / "agent.zip"), env=toy)
    np.testing.assert_array_equal(loaded.scores(observation), agent.scores(selected))
    with pytest.raises(SsdgymError, match="has 5 candidate and 2 context features, but the agent was"):
        agent.scores(observation)


def test_save__unwritable__says_so_and_leaves_nothing(tmp_path) -> None:
    with pytest.raises(SsdgymError, match="agent.zip: cannot be written"):
        make_agent().save(tmp_path / "no-such-folder" / "agent.zip")
    assert not list(tmp_path.iterdir())
