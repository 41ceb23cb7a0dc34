"""What placements save on skewed writes, on a device that is large enough to tell."""

from __future__ import annotations

import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.simulator import Simulator
from tests.engine.devices import device

#: From the most write amplification to the least, with cost-benefit.
LADDER = ["sep_gc", "mida", "mida_hot", "sepbit", "sfs", "dac"]


def plane_with_spare() -> DeviceConfig:
    """Return a plane of 1,000 blocks of 64 pages with 15 % over-provisioning."""
    geometry = {"channels": 1, "blocks_per_plane": 1000, "pages_per_block": 64}
    return device(geometry, {"gc": {"free_blocks": 3}}, over_provisioning=0.15)


def write_amplification(policy: str) -> float:
    """Return that of 2 million Zipf writes, after the device was filled and written by 1 million."""
    sim = Simulator(plane_with_spare(), policy=policy)
    sim.fill()
    metrics = sim.run("zipf99", host_pages=2_000_000, warmup=1_000_000, seed=1)
    assert metrics["lost_pages"] == 0
    return float(metrics["write_amplification"])


@pytest.mark.slow
def test_placements__in_the_order_that_others_have_found() -> None:
    """DAC is the best where every page keeps its rate; SepBIT and the hot filter are close to each other."""
    assert write_amplification("greedy+single") == pytest.approx(5.51, rel=0.01)
    assert write_amplification("greedy+sep_gc") == pytest.approx(4.09, rel=0.01)
    found = [write_amplification(f"cost_benefit(since_close=1)+{placement}") for placement in LADDER]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(2.97, rel=0.01)
    assert found[-1] == pytest.approx(2.34, rel=0.01)
