"""Devices as small as a trace needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ssdgym.config.device import load_device
from ssdgym.config.page import PageFtl
from ssdgym.envs.sources import is_sizing, load_devices, sized_to_traces
from ssdgym.errors import SsdgymError
from ssdgym.policy import device_for
from ssdgym.simulator.families import family_of
from ssdgym.workloads.stream import load_workload
from ssdgym.workloads.traces.loading import TraceConfig
from tests.engine.devices import device

PAGE = 4096


pytestmark = pytest.mark.usefixtures("own_cache")


def trace(folder: Path, pages: int) -> TraceConfig:
    """A trace that writes so many pages once each."""
    path = folder / f"{pages}.csv"
    path.write_text("".join(f"{1000 + n},h,0,Write,{n * PAGE},{PAGE},1\n" for n in range(pages)))
    return TraceConfig(path=path)


@pytest.mark.parametrize("pages", [3, 100, 2000])
def test_sized_to_traces__holds_the_largest_and_keeps_the_over_provisioning(
    tmp_path: Path, pages: int
) -> None:
    small = device()
    sized = sized_to_traces(small, [trace(tmp_path, 2), trace(tmp_path, pages)])
    assert sized.logical_pages == pages
    assert sized.spare_ratio >= small.spare_ratio
    family_of(sized).check(device_for(sized))


def test_load_devices__each_of_them_is_sized(tmp_path: Path) -> None:
    config = trace(tmp_path, 500)
    devices = load_devices([device(), "tiny"], {"timing": "none"}, [config], size_to_trace=True)
    assert [one.logical_pages for one in devices] == [500, 500]
    assert all(one.ftl.timing == "none" for one in devices)
    assert load_devices("tiny", None, [config], size_to_trace=False) == [load_device("tiny")]


def test_is_sizing__only_a_trace_with_compact_addresses(tmp_path: Path) -> None:
    config = trace(tmp_path, 5)
    assert is_sizing(config)
    assert not is_sizing(config.model_copy(update={"addresses": "fold"}))
    assert not is_sizing(load_workload("zipf99"))
    assert not is_sizing(load_workload(np.zeros(1, load_workload("zipf99").open(9, 9, 0).next(1).dtype)))


def test_sized_to_traces__no_device_of_its_kind_holds_them__refused_with_what_to_do(tmp_path: Path) -> None:
    greedy = device(ftl={"gc": {"free_fraction": 0.4}}, over_provisioning=1.0)
    with pytest.raises(SsdgymError, match=r"5\.csv: the trace touches 5 pages, and .*; leave out size_to_tr"):
        sized_to_traces(greedy, [trace(tmp_path, 5)], ftl={"gc": {"free_fraction": 0.9}})


@pytest.mark.parametrize("size_to_trace", [True, False])
def test_load_devices__an_ftl_that_maps_whole_blocks__refuses_compact_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size_to_trace: bool
) -> None:
    monkeypatch.setattr(PageFtl, "keeps_addresses", True)
    with pytest.raises(SsdgymError, match="maps whole blocks.* set addresses to fold"):
        load_devices("tiny", None, [trace(tmp_path, 5)], size_to_trace=size_to_trace)
