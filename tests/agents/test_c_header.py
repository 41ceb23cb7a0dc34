"""An agent in C gives the scores, choices and actions that it gives in PyTorch."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.c_header import c_header
from ssdgym.agents.card import AgentCard, ScorerConfig, cost_of
from ssdgym.agents.networks import CandidateScorer
from ssdgym.cli import main
from ssdgym.errors import SsdgymError
from tests.agents.rules.agents import random_agent

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler called cc")
FEATURES = ("log_benefit", "log_age", "valid_share")
CONTEXT = ("free_share", "spare_ratio")


def trained(seed: int = 0, **fields: Any) -> Agent:
    """An agent with weights of all kinds, as if it had been trained."""
    torch.manual_seed(seed)
    config = ScorerConfig(**{"start": "cost_benefit", **fields})
    scorer = CandidateScorer(FEATURES, CONTEXT, config)
    for parameter in scorer.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    card = AgentCard(
        algorithm="ppo",
        environment="ssdgym/EraseVictim-v0",
        decisions=7,
        candidate_features=FEATURES,
        context_features=CONTEXT,
        scorer=config,
    )
    return Agent(scorer, card)


def compiled(agent: Agent, folder: Path, functions: str) -> Any:
    """Compile the header of an agent with every warning as an error, and load functions that call it."""
    (folder / "agent.h").write_text(c_header(agent, "agent"))
    (folder / "agent.c").write_text(f'#include "agent.h"\n{functions}')
    library = folder / "agent.so"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-shared", "-fPIC"]
    subprocess.run([str(COMPILER), *strict, "-o", str(library), str(folder / "agent.c")], check=True)
    return ctypes.CDLL(str(library))


#: Of an agent that scores candidates, and of one with an ordinal network.
ARGUMENTS = "const float *c, const float *g, const unsigned char *v, int n, float *s"
SCORING = f"""void scores({ARGUMENTS}) {{ agent_scores(c, g, v, n, s); }}
int choose({ARGUMENTS}) {{ return agent_choose(c, g, v, n, s); }}
"""
PLACING = """float number(const float *context) { return agent_number(context); }
int act(const float *context) { return agent_act(context); }
"""


def in_c(library: Any, observation: dict[str, np.ndarray]) -> tuple[np.ndarray, int]:
    """Return scores and choice of one decision."""
    arrays = [observation["candidates"], observation["context"], observation["action_mask"].astype(np.uint8)]
    count = len(arrays[0])
    scores = np.empty(count, np.float32)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in map(np.ascontiguousarray, arrays)]
    library.scores(*pointers, count, scores.ctypes.data_as(ctypes.c_void_p))
    scratch = np.empty(count, np.float32)
    return scores, library.choose(*pointers, count, scratch.ctypes.data_as(ctypes.c_void_p))


def decision(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    mask = rng.random(count) < 0.8
    return {
        "candidates": rng.uniform(-1, 1, (count, len(FEATURES))).astype(np.float32),
        "context": rng.uniform(-1, 1, len(CONTEXT)).astype(np.float32),
        "action_mask": mask.astype(np.int8),
    }


@needs_compiler
@pytest.mark.parametrize("hidden", [(8,), (32, 32), (5, 9, 3)])
@pytest.mark.parametrize("pooling", ["mean_max", "none"])
def test_c_header__compiled__the_scores_and_choices_of_the_agent(
    pooling: str, hidden: tuple[int, ...], tmp_path: Path
) -> None:
    agent = trained(pooling=pooling, hidden=hidden)
    library = compiled(agent, tmp_path, SCORING)
    rng = np.random.default_rng(1)
    for count in (1, 2, 16, 100):
        observation = decision(rng, count)
        observation["action_mask"][rng.integers(count)] = 1
        scores, choice = in_c(library, observation)
        np.testing.assert_allclose(scores, agent.scores(observation), rtol=1e-5, atol=1e-5)
        assert choice == agent.act(observation)


@needs_compiler
def test_c_header__no_valid_candidate__the_first(tmp_path: Path) -> None:
    observation = decision(np.random.default_rng(1), 4)
    observation["action_mask"][:] = 0
    scores, choice = in_c(compiled(trained(), tmp_path, SCORING), observation)
    assert (scores == np.float32(-1e9)).all() and choice == 0


@needs_compiler
@pytest.mark.parametrize("kind", ["streams", "linear streams", "answers"])
def test_c_header__ordinal_network__the_numbers_and_actions_of_the_agent(kind: str, tmp_path: Path) -> None:
    agent, rng = random_agent(kind, seed=3), np.random.default_rng(1)
    network, entries = agent.scorer, len(agent.card.context_features)
    library = compiled(agent, tmp_path, PLACING)
    library.number.restype = ctypes.c_float
    inputs = rng.normal(0, 2, (200, entries)).astype(np.float32)
    heads = np.zeros(200, int)
    if network.switch >= 0:
        heads = rng.integers(2, size=200)
        inputs[:, network.switch] = heads
    with torch.inference_mode():
        expected = network.place(torch.as_tensor(inputs)).numpy()[np.arange(200), heads]
    pointers = [row.ctypes.data_as(ctypes.c_void_p) for row in inputs]
    np.testing.assert_allclose([library.number(p) for p in pointers], expected, rtol=1e-5, atol=1e-5)
    mask = np.ones((200, agent.card.ordinal.actions), np.int8)
    candidates = np.zeros((*mask.shape, 1), np.float32)
    actions = agent.act({"candidates": candidates, "context": inputs, "action_mask": mask})
    assert [library.act(p) for p in pointers] == list(actions)
    assert len(set(actions)) > 2


def test_c_header__lists_the_features_in_order_and_the_cost() -> None:
    agent = trained(hidden=(8, 4))
    text = c_header(agent)
    places = [text.index(f"{number}: {name}") for number, name in enumerate(FEATURES)]
    assert places == sorted(places)
    cost = cost_of(agent.card)
    assert cost.shared_multiply_adds == (2 + 2 * 3) * 8
    assert cost.candidate_multiply_adds == 3 * 8 + 8 * 4 + 4 + 3
    assert cost.multiply_adds(16) == 64 + 16 * 63
    assert f"costs 64 + 63 * K multiply-adds; the weights take {cost.weight_bytes} bytes" in text


@needs_compiler
def test_c_header__names_of_features__as_arrays(tmp_path: Path) -> None:
    (tmp_path / "agent.h").write_text(c_header(trained()))
    (tmp_path / "names.c").write_text("""#include <stdio.h>
#include "agent.h"
int main(void)
{
    static const char *const of_candidates[] = AGENT_CANDIDATE_NAMES;
    static const char *const of_context[] = AGENT_CONTEXT_NAMES;
    int i;
    for (i = 0; i < AGENT_CANDIDATE_FEATURES; i++)
        puts(of_candidates[i]);
    for (i = 0; i < AGENT_CONTEXT_FEATURES; i++)
        puts(of_context[i]);
    return 0;
}
""")
    program = tmp_path / "names"
    subprocess.run([str(COMPILER), "-std=c99", "-o", str(program), str(tmp_path / "names.c")], check=True)
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    assert tuple(printed.split()) == FEATURES + CONTEXT


def test_cost__weight_bytes__are_those_of_the_arrays_of_the_header() -> None:
    agent = trained(hidden=(8, 4))
    left_out = ("value_", "linear.log_sharpness")
    weights = agent.scorer.state_dict().items()
    assert cost_of(agent.card).weight_bytes == 4 * sum(
        w.numel() for n, w in weights if not n.startswith(left_out)
    )


def test_c_header__no_name_in_c__refused() -> None:
    with pytest.raises(SsdgymError, match="name = '1st' is no name in C"):
        c_header(trained(), "1st")


def test_c_header__a_weight_that_is_no_number__refused() -> None:
    agent = trained()
    agent.scorer.score_layer.bias.data[0] = float("nan")
    with pytest.raises(SsdgymError, match="score_layer.bias holds what is no finite number"):
        c_header(agent)


def test_export__writes_a_header_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent = trained().save(tmp_path / "agent.zip")
    out = tmp_path / "victim.h"
    assert main(["zoo", "export", str(agent), "--out", str(out), "--name", "victim"]) == 0
    assert "victim_choose" in out.read_text() and "multiply_adds" in capsys.readouterr().out
    assert main(["zoo", "export", str(agent), "--out", str(out)]) == 2
    assert "--overwrite to replace it" in capsys.readouterr().err
    assert main(["zoo", "export", str(agent), "--out", str(out), "--overwrite"]) == 0
