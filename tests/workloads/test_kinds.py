"""Kinds of workload that others add: registered in Python or found by entry points, and used like our own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytest

from ssdgym.config.loading import Config
from ssdgym.errors import SsdgymError
from ssdgym.files import file_hash
from ssdgym.types import IntegerArray
from ssdgym.workloads import load_workload, open_workload, workload_kind
from ssdgym.workloads import registry as kinds
from ssdgym.workloads.generators.base import AccessConfig
from ssdgym.workloads.generators.patterns import MixedConfig
from ssdgym.workloads.registry import OfAnyKind

PATTERN = '''
"""Every other page of the footprint, in order."""

from typing import Literal

import numpy as np

from ssdgym.workloads import workload_kind
from ssdgym.workloads.generators.base import AccessConfig


@workload_kind
class EveryOtherConfig(AccessConfig):
    kind: Literal["every_other"] = "every_other"
    first: int = 0

    def picker(self, footprint, rng):
        return EveryOther(self.first, footprint)


class EveryOther:
    def __init__(self, first, footprint):
        self.next, self.footprint = first, footprint

    def __call__(self, sizes):
        pages = (self.next + 2 * np.arange(len(sizes))) % self.footprint
        self.next += 2 * len(sizes)
        return pages
'''

USE = """
from ssdgym.workloads import registry as kinds
from ssdgym.workloads import load_workload, open_workload

alone = {"kind": "every_other", "first": 1, "interarrival_ns": 10}
part = {"kind": "every_other", "first": 1}
for source in (
    alone,
    {"kind": "mixed", "components": [{"weight": 1, "workload": part}]},
    {"kind": "tenants", "tenants": [{"workload": alone}]},
):
    stream = open_workload(load_workload(source), logical_pages=100, page_size=4096, seed=0)
    print(stream.next(3)["lpn"].tolist(), stream.report["footprint_pages"])
"""


def test_entry_point__adds_a_pattern_that_mixes_and_tenants_take(tmp_path: Path) -> None:
    (tmp_path / "every_other.py").write_text(PATTERN)
    metadata = tmp_path / "every_other-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: every-other\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[ssdgym.patterns]\nevery_other = every_other\n")
    script = tmp_path / "use.py"
    script.write_text(USE)
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[1, 3, 5] 100"] * 3, done.stderr


class _Same:
    def __call__(self, sizes: IntegerArray) -> IntegerArray:
        return np.full(len(sizes), 7)


class SamePageConfig(AccessConfig):
    kind: Literal["same_page"] = "same_page"

    def picker(self, footprint: int, rng: np.random.Generator) -> _Same:
        return _Same()


@pytest.fixture
def same_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind that is there for one test."""
    monkeypatch.setattr(kinds.KINDS, "_things", dict(kinds.KINDS._things))
    workload_kind(SamePageConfig)


def test_decorator__adds_a_kind_to_fields_of_models_defined_before(same_page: None) -> None:
    part = {"weight": 1, "workload": {"kind": "same_page"}}
    mixed = load_workload({"kind": "mixed", "components": [part]})
    assert isinstance(mixed, MixedConfig)
    assert isinstance(mixed.components[0].workload, SamePageConfig)
    stream = open_workload(mixed, logical_pages=100, page_size=4096, seed=0)
    assert stream.next(2)["lpn"].tolist() == [7, 7]
    assert MixedConfig.model_validate_json(mixed.model_dump_json()) == mixed


def test_decorator__defined_anew_in_the_same_place_takes_the_place(same_page: None) -> None:
    class Again(SamePageConfig):
        """The same page, again."""

    assert workload_kind(Again) is Again
    assert type(load_workload({"kind": "same_page"})) is Again


def test_decorator__a_kind_of_another_model__refused() -> None:
    with pytest.raises(SsdgymError, match="the workload kind zipf is registered already; choose another"):

        @workload_kind
        class ZipfConfig(AccessConfig):
            kind: Literal["zipf"] = "zipf"


def test_code_hashes__name_the_sources_outside_of_ssdgym(same_page: None) -> None:
    here = [file_hash(Path(__file__))]
    part = {"kind": "same_page", "interarrival_ns": 10}
    for source in (
        part,
        {"kind": "mixed", "components": [{"weight": 1, "workload": {"kind": "same_page"}}]},
        {"kind": "tenants", "tenants": [{"workload": part}, {"workload": part}]},
    ):
        assert kinds.code_hashes(load_workload(source)) == here
    assert kinds.code_hashes(load_workload("tenants")) == []


def test_any_kind__of_a_base_model_takes_only_what_derives_from_it() -> None:
    class Holder(Config):
        workload: Annotated[AccessConfig, OfAnyKind(but="uniform")]

    assert Holder.model_validate({"workload": {"kind": "zipf", "theta": 0.5}}).workload.kind == "zipf"
    for kind in ("uniform", "mixed", "trace"):
        with pytest.raises(ValueError, match=f"'{kind}' .* does not match any of the expected tags"):
            Holder.model_validate({"workload": {"kind": kind}})
