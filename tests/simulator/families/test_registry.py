"""A family of FTLs of a user: configured, built and measured without a change to those that exist."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from pydantic import Field

from ssdgym.config import ftl as ftl_module
from ssdgym.config.device import DeviceConfig, load_device, with_ftl
from ssdgym.config.ftl import FtlConfig
from ssdgym.config.geometry import GeometryConfig
from ssdgym.config.loading import Config
from ssdgym.config.page import PageFtl
from ssdgym.engine.core.family import COMMON, Array, Arrays
from ssdgym.engine.core.kernel import inlined
from ssdgym.engine.decisions import Decider
from ssdgym.engine.entries import add_family
from ssdgym.engine.operations import family_bind, family_format
from ssdgym.errors import SsdgymError
from ssdgym.simulator import families as registry
from ssdgym.simulator.build import Recording, make_state
from ssdgym.simulator.families import FamilyBuilder, family_of
from tests.engine.devices import device

RECORDING = Recording(latencies=4, slowest=1)


class LogConfig(Config):
    blocks: int = 4
    merge: Literal["full", "partial"] = "full"


class LogFtl(FtlConfig):
    """An FTL with a log of blocks, whose pages are addressed by halves."""

    mapping: Literal["log"] = "log"
    log: LogConfig = LogConfig()
    wear_gap: int = Field(3, ge=1)

    def check_device(self, geometry: GeometryConfig, erase_unit: str, multi_plane: str) -> None:
        if self.log.blocks >= geometry.blocks_per_plane:
            raise ValueError(f"ftl.log.blocks = {self.log.blocks} leaves no block for data")

    def host_unit_bytes(self, geometry: GeometryConfig) -> int:
        return geometry.page_size_bytes // 2


ARRAYS = Arrays(
    "Log",
    __name__,
    {name: COMMON[name] for name in ("params", "control", "counters", "logical")}
    | {"log": Array(np.int32, ("log_blocks",))},
)
bind_device = ARRAYS.bind_device


@inlined
def bind_log(state, i, rules, external, pairs, address):  # type: ignore[no-untyped-def]
    bind_device(state, i, Decider(external, rules, pairs, 0, 0, 0, 0, 0), address)


@inlined
def format_log(dev):  # type: ignore[no-untyped-def]
    dev.log[:] = -1


LOG = add_family("log", ARRAYS, {family_bind: bind_log, family_format: format_log})


class LogFamily(FamilyBuilder):
    engine = LOG

    def check(self, device: DeviceConfig) -> None:
        if device.logical_pages % 2:
            raise SsdgymError(f"device {device.name}: half pages come in pairs.")

    def params(self, device: DeviceConfig) -> dict[str, int]:
        return {"streams": 1}

    def sizes(self, device: DeviceConfig) -> dict[str, int]:
        assert isinstance(device.ftl, LogFtl)
        return {"log_blocks": device.ftl.log.blocks}


KNOWN = ftl_module._FAMILIES.pop("log"), registry._BUILDERS.pop("log")


@pytest.fixture(autouse=True)
def log_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """The family is known during a test only."""
    monkeypatch.setitem(ftl_module._FAMILIES, "log", KNOWN[0])
    monkeypatch.setitem(registry._BUILDERS, "log", KNOWN[1])


def logged(**ftl: Any) -> DeviceConfig:
    return load_device({**dict(device()), "ftl": {"mapping": "log", **ftl}})


def test_mapping__says_which_model_an_ftl_is_read_as() -> None:
    assert isinstance(device().ftl, PageFtl)
    assert logged(wear_gap=5).ftl == LogFtl(wear_gap=5)
    assert load_device(logged(wear_gap=5).model_dump(mode="json")) == logged(wear_gap=5)
    assert logged().host_unit_bytes == 2048 and device().host_unit_bytes == 4096


@pytest.mark.parametrize(
    ("ftl", "reason"),
    [
        (
            {"mapping": "hybrid"},
            "field ftl has mapping 'hybrid'; set one of block, log, page, subpage",
        ),
        ({"mapping": "log", "wear_gap": 0}, "field ftl.wear_gap must be greater than or equal to 1, not 0"),
        ({"mapping": "log", "log": {"merge": "half"}}, "field ftl.log.merge must be 'full' or 'partial'"),
        ({"mapping": "log", "placement": "single"}, "field ftl.placement is unknown"),
        ({"mapping": "log", "log": {"blocks": 16}}, "ftl.log.blocks = 16 leaves no block for data"),
        ("log", "field ftl must be a mapping of fields to values, not 'log'"),
    ],
)
def test_ftl__that_does_not_fit__named(ftl: Any, reason: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        load_device({**dict(device()), "ftl": ftl})
    assert reason in str(caught.value)


def test_with_ftl__parts_of_any_family_are_merged_by_name() -> None:
    changed = with_ftl(logged(log={"blocks": 7}, timing="none"), {"log": {"merge": "partial"}}).ftl
    assert changed == LogFtl(log=LogConfig(blocks=7, merge="partial"), timing="none")


def test_with_ftl__another_mapping__keeps_what_all_families_have() -> None:
    config = device(ftl={"timing": "event", "queue_depth": 4, "placement": "single"})
    assert with_ftl(config, {"mapping": "log", "wear_gap": 2}).ftl == LogFtl(
        timing="event", queue_depth=4, wear_gap=2
    )


def test_make_state__builds_devices_of_the_family() -> None:
    state = make_state([logged(), logged(log={"blocks": 9})], [1, 2], RECORDING)
    assert isinstance(state, ARRAYS.state) and state.log.shape == (2, 9) and (state.log == -1).all()
    assert family_of(logged()).weighed(logged()) == {"times": logged().timing.model_dump()}
    assert state.params["logical_pages"].tolist() == [[160], [160]]


def test_make_state__devices_of_several_families__refused() -> None:
    with pytest.raises(SsdgymError, match="devices of the mappings page, log cannot share a batch; make one"):
        make_state([device(), logged()], [1, 2], RECORDING)


def test_make_state__a_device_that_cannot_run__refused_by_its_family() -> None:
    odd = logged().model_copy(update={"capacity": device(logical_pages=99).capacity})
    with pytest.raises(SsdgymError, match="device small: half pages come in pairs"):
        make_state([odd], [1], RECORDING)


def test_subclass__of_a_name_that_is_taken__refused() -> None:
    with pytest.raises(SsdgymError, match="the FTL mapping page is registered already"):

        class OtherFtl(FtlConfig):
            mapping: Literal["page"] = "page"

    with pytest.raises(SsdgymError, match="the FTL mapping page has a builder already"):

        class OtherFamily(LogFamily):
            engine = replace(LOG, name="page", arrays=Arrays("Other", __name__, {}))

    assert ftl_module.ftl_model("page") is PageFtl


def test_family_of__a_model_without_a_builder__refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(registry._BUILDERS, "log")
    with pytest.raises(SsdgymError, match="ftl.mapping log can be configured and not simulated"):
        make_state([logged()], [1], RECORDING)
