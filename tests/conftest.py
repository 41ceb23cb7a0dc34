"""What all tests share: no time limits, one thread per process, own agents, and registries kept clean."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# A test that takes long on a busy machine is no failure.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# The tests run in several processes on few cores; the thread pools of BLAS and OpenMP would only compete.
# Set before anything imports NumPy or torch.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that holds compiled code alone, which would take seconds to compile again."""
    from ssdgym.engine.compiler.cache import compile_cache_folder

    compiled = compile_cache_folder().parent
    compiled.mkdir(parents=True, exist_ok=True)
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "numba").symlink_to(compiled)
    monkeypatch.setenv("SSDGYM_CACHE_DIR", str(folder))
    return folder


OWN_AGENTS = '''
import numpy as np


class MostInvalid:
    """Take the candidate with the largest value in a column; the first valid one of equals."""

    def __init__(self, env, feature="log_benefit", sign=1):
        self.column = env.metadata["features"]["candidates"].index(feature)
        self.sign = sign

    def act(self, observation, mask, rng):
        values = self.sign * observation["candidates"][..., self.column]
        return np.where(mask, values, -np.inf).argmax(axis=-1)


class Nothing:
    pass


class OneForAll:
    def act(self, observation, mask, rng):
        return 0
'''


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module of a user's own, which lies in the present folder."""
    name = f"own_{tmp_path.parent.name}_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(OWN_AGENTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))  # the present folder is looked in, from then on
    return name


OWN_RULES = """
from ssdgym.policy import merge_policy


@merge_policy("last", source="a test", parameters={"most": 9})
def last(plans, case, parameters):
    for number in range(case[0].candidates - 1, 0, -1):
        if plans[number].allowed and plans[number].copies <= parameters.most:
            return number
    return 0
"""


@pytest.fixture
def own_rules(own_module: str, own_registrations: None) -> str:
    """The name of a module of a user's own with the merge rule `last`."""
    Path(f"{own_module}.py").write_text(OWN_RULES)
    return own_module


@pytest.fixture
def own_registrations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features, reward terms and rules that a test registers are gone after it."""
    from ssdgym.envs.features import registry
    from ssdgym.envs.rewards import terms
    from ssdgym.policy import registry as policies

    policies.registered_policies()  # built-in rules register as they are imported, once in a process
    monkeypatch.setattr(policies, "_RULES", dict(policies._RULES))
    monkeypatch.setattr(registry, "_FEATURES", dict(registry._FEATURES))
    monkeypatch.setattr(terms, "TERMS", dict(terms.TERMS))
