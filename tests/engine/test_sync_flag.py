"""An FTL that maps whole pages takes no notice of the flag of synchronous writes."""

from __future__ import annotations

import pytest

from ssdgym.requests import SYNC, WRITE
from ssdgym.simulator import Simulator
from tests.engine.devices import device, differences, mixed_requests


@pytest.mark.parametrize("timing", ["none", "event"])
def test_a_run_is_the_same_with_and_without_synchronous_writes(timing: str) -> None:
    description = device(ftl={"timing": timing})
    plain, synchronous = Simulator(description), Simulator(description)
    requests = mixed_requests(5000, plain.logical_pages, gap_ns=2000)
    plain.run(requests)
    requests["flags"][requests["op"] == WRITE] |= SYNC
    synchronous.run(requests)
    assert plain.metrics()["rmw_reads"] > 100
    assert differences(plain.state, 0, synchronous.state, 0) == []
