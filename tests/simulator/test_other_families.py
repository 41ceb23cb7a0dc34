"""Devices of the block and the sub-page family, the same again: in pieces, from a snapshot, from the disk."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.simulator import Recording, Simulator
from tests.engine.devices import differences, same_as
from tests.simulator import test_block as block
from tests.simulator import test_subpage as subpage
from tests.simulator.test_subpage import TIMINGS


def short_name(value: Any) -> str:
    return getattr(value, "__name__", str(value)).rpartition(".")[2]


#: The share of each that may be filled.
SHARES = {block: 0.9, subpage: 0.847}
each_kind = pytest.mark.parametrize(
    ("family", "kind"), [(family, kind) for family in SHARES for kind in family.KINDS], ids=short_name
)


@pytest.mark.parametrize("timing", TIMINGS)
@each_kind
def test_same_seed__same_bits__also_from_a_snapshot_and_in_pieces(
    family: ModuleType, kind: str, timing: str
) -> None:
    policy = "mmerge_fixed(depth=2)" if family is block else "greedy"
    whole, again, pieces, elsewhere = (
        Simulator(family.tiny(kind, timing), policy=policy, recording=Recording(1 << 12, 16))
        for _ in range(4)
    )
    given = family.mixed(1500, whole.logical_pages, seed=4)
    for sim in (whole, again):
        sim.fill(0.75)
        sim.feed(given)
        sim.advance()
    assert same_as(whole, again)
    pieces.fill(0.75)
    for part in (given[:700], given[700:701], given[701:]):
        pieces.feed(part)
        snapshot = pieces.snapshot()
        pieces.advance(last=len(part) == 799)
    elsewhere.restore(snapshot)
    elsewhere.advance()
    for sim in (pieces, elsewhere):
        assert differences(sim.state, 0, whole.state, 0) == []


@pytest.mark.parametrize(
    ("family", "changes"),
    [(block, {"disturb_tolerance": 2}), (subpage, {"rule": "fewest_valid"})],
    ids=short_name,
)
def test_restore__a_device_of_another_rule__refused(family: ModuleType, changes: dict[str, Any]) -> None:
    with pytest.raises(SsdgymError, match="the snapshot is of another device"):
        Simulator(family.tiny()).restore(Simulator(family.tiny(**changes)).snapshot())


@each_kind
def test_precondition__taken_from_disk__is_the_same_device_in_time_and_without(
    family: ModuleType, kind: str
) -> None:
    untimed, timed = (Simulator(family.tiny(kind, timing)) for timing in TIMINGS)
    reports = [sim.precondition(seed=1, share=SHARES[family]) for sim in (untimed, timed)]
    assert reports[0] == reports[1] and reports[0].write_amplification > 1
    made = Simulator(family.tiny(kind, "event"))
    made.precondition(seed=1, share=SHARES[family], cache=False)
    assert same_as(made, timed) and family.sound(timed)
    metrics = timed.run(family.mixed(500, timed.logical_pages))
    assert metrics["requests"] == 500 and family.sound(timed)
