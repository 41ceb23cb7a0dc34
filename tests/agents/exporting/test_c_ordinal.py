"""An agent that has an ordinal network does in C what it does in PyTorch."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.c_header import c_header
from tests.agents.exporting.test_c_header import COMPILER, needs_compiler
from tests.agents.rules.agents import random_agent


def compiled(agent: Agent, folder: Path) -> Any:
    """Compile the header with every warning as an error, and load its functions."""
    (folder / "placing.h").write_text(c_header(agent, "placing"))
    (folder / "placing.c").write_text("""#include "placing.h"
float number(const float *context) { return placing_number(context); }
int act(const float *context) { return placing_act(context); }
""")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-shared", "-fPIC"]
    library = folder / "placing.so"
    subprocess.run([str(COMPILER), *strict, "-o", str(library), str(folder / "placing.c")], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.number.restype = ctypes.c_float
    return loaded


def contexts(agent: Agent, count: int) -> np.ndarray:
    """Decisions at random, of both heads."""
    rng = np.random.default_rng(1)
    found = rng.normal(0, 2, (count, len(agent.card.context_features))).astype(np.float32)
    if agent.scorer.switch >= 0:
        found[:, agent.scorer.switch] = rng.integers(2, size=count)
    return found


@needs_compiler
@pytest.mark.parametrize("kind", ["streams", "linear streams", "answers"])
def test_ordinal_header__compiled__the_numbers_and_actions_of_the_agent(kind: str, tmp_path: Path) -> None:
    agent = random_agent(kind, seed=3)
    library = compiled(agent, tmp_path)
    inputs = contexts(agent, 200)
    with torch.inference_mode():
        numbers = agent.scorer.place(torch.as_tensor(inputs)).numpy()
    heads = inputs[:, agent.scorer.switch] > 0.5 if agent.scorer.switch >= 0 else np.zeros(200, bool)
    expected = numbers[np.arange(200), heads.astype(int)]
    pointers = [row.ctypes.data_as(ctypes.c_void_p) for row in inputs]
    np.testing.assert_allclose([library.number(p) for p in pointers], expected, rtol=1e-5, atol=1e-5)
    mask = np.ones((200, agent.card.ordinal.actions), np.int8)
    candidates = np.zeros((*mask.shape, 1), np.float32)
    actions = agent.act({"candidates": candidates, "context": inputs, "action_mask": mask})
    assert [library.act(p) for p in pointers] == list(actions)
    assert len(set(actions)) > 2
