"""What the engine tells of latencies, compared with the naive reference."""

from __future__ import annotations

import math

import numpy as np

from ssdgym.requests import READ, WRITE
from ssdgym.simulator import Simulator
from ssdgym.simulator.metrics import metrics_of
from tests.reference import Reference

OPS = {READ: "read", WRITE: "write"}


def assert_same_waits(sim: Simulator, reference: Reference) -> None:
    """The parts of all latencies agree in their sums, and waiting for garbage collection in its p99."""
    counters, metrics = sim.state.counters[0, 0], metrics_of(sim.state, 0, sim.device)
    met = 0
    for op, name in OPS.items():
        parts = reference.waits.of_op(op)
        waits = sorted(part.gc_wait_ns for part in parts)
        met += np.count_nonzero(waits)
        assert counters[f"{name}_service_sum_ns"] == sum(part.service_ns for part in parts), name
        assert counters[f"{name}_gc_wait_sum_ns"] == sum(waits), name
        p99 = metrics[f"{name}_parts_ns"]["gc_wait_p99"]
        if waits:
            exact = waits[math.ceil(0.99 * len(waits)) - 1]
            assert abs(p99 - exact) <= exact / 128, name
        else:
            assert p99 is None
    assert counters["met_gc_requests"] == met
