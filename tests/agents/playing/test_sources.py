"""An agent is a name, a callable of one's own, or a file; what runs code needs trust."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ssdgym.agents.agent import Agent
from ssdgym.agents.playing.agents import CallableSource
from ssdgym.agents.playing.files import source_of
from ssdgym.agents.zoo import zoo_agents
from ssdgym.errors import SsdgymError
from tests.agents.toy import ToyVectorEnv


def test_random_action__draws_each_valid_action_equally_often() -> None:
    agent = source_of("random_action").build(ToyVectorEnv(1))
    mask = np.tile([True, False, True, True], (30_000, 1))
    drawn = np.bincount(agent.act({}, mask, np.random.default_rng(3)), minlength=4) / 30_000
    np.testing.assert_allclose(drawn, [1 / 3, 0, 1 / 3, 1 / 3], atol=0.01)


def test_callable__takes_parameters_and_the_environment(own_module: str) -> None:
    env = ToyVectorEnv(8)
    observation, _ = env.reset(seed=1)
    source = source_of(f"{own_module}:MostInvalid(feature=log_age, sign=-1)", trust=True)
    agent = source.build(env)
    assert (agent.column, agent.sign) == (env.metadata["features"]["candidates"].index("log_age"), -1)
    mask = observation["action_mask"] != 0
    assert mask[np.arange(8), agent.act(observation, mask, np.random.default_rng(0))].all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no_such_module:build", "there is no module no_such_module"),
        ("{}:Missing", "has no callable Missing"),
        ("{}:Nothing", r"made a Nothing, which has no method act\(observation, mask, rng\)"),
        ("{}:MostInvalid(colour=3)", "cannot be called so: got an unexpected keyword argument 'colour'"),
        ("{}:MostInvalid(sign)", "'sign' is not of the form name=value"),
    ],
)
def test_callable__that_cannot_be_used__says_why(own_module: str, text: str, said: str) -> None:
    with pytest.raises(SsdgymError, match=said):
        source_of(text.format(own_module), trust=True).build(ToyVectorEnv(2))


def test_callable__without_trust__is_not_even_imported(own_module: str, tmp_path: Path) -> None:
    (tmp_path / f"{own_module}.py").write_text("raise SystemExit('imported')")
    with pytest.raises(SsdgymError, match="executes code of the module it names; .* give --trust"):
        source_of(f"{own_module}:MostInvalid")


def test_callable__digest_changes_with_its_source_and_the_files_it_is_given(
    own_module: str, tmp_path: Path
) -> None:
    weights = tmp_path / "weights.txt"
    weights.write_text("1")
    source = CallableSource(f"{own_module}:MostInvalid(feature=weights.txt)")
    digests = [source.digest()]
    weights.write_text("2")
    digests.append(source.digest())
    (tmp_path / f"{own_module}.py").write_text("changed = True")
    digests.append(source.digest())
    assert len(set(digests)) == 3


def test_file__that_is_missing__says_so() -> None:
    with pytest.raises(SsdgymError, match="nowhere.zip: there is no such agent .* ssdgym list agents"):
        source_of("nowhere.zip").digest()


@pytest.mark.parametrize(("name", "arguments"), [("victim-v1", set()), ("placement-v2", {"streams"})])
def test_agent_of_the_zoo__is_a_source_by_its_name(name: str, arguments: set[str]) -> None:
    source, by_path = source_of(name), source_of(zoo_agents()[name])
    assert (source.label, source.digest()) == (name, by_path.digest())
    own = source.own_environment()
    assert own == by_path.own_environment() and own is not None
    assert set(own.kwargs) == {"features", *arguments}
    assert Agent.load(name).card == Agent.load(zoo_agents()[name]).card
