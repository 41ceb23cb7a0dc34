"""Requests, runs and checks for the tests of the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.comparing import run_both
from tests.engine.oracle import POLICIES, assert_same

from . import FLUSH, READ, TRIM, WRITE, Device, Reference, ReferenceConfig
from .page.policies import Policy, greedy

# tR, tPROG, tBERS, tX: a lone read takes 60 ns, a write 210 ns, a move 270 ns, an erase 1000 ns.
TIMED = ReferenceConfig(
    timing="event", read_ns=50, program_ns=200, erase_ns=1000, transfer_ns=10, threshold_blocks=2
)
UNTIMED = replace(TIMED, timing="none")
#: Eight blocks of four sub-blocks of two pages. A copy costs 1 and an erase 2, as no time passes.
SUBS = ReferenceConfig(
    sub_blocks_per_block=4,
    pages_per_block=8,
    logical_pages=30,
    erase_unit="sub_block_run",
    isolation="software",
    placement="hotness_groups",
    gc_mode="per_write",
    threshold_blocks=2,
)

Row = tuple[int, int, int, int, int]


def read(at: int, lpn: int, pages: int = 1) -> Row:
    return at, lpn, pages, READ, 0


def write(at: int, lpn: int, pages: int = 1, flags: int = 0) -> Row:
    return at, lpn, pages, WRITE, flags


def trim(at: int, lpn: int, pages: int = 1) -> Row:
    return at, lpn, pages, TRIM, 0


def flush(at: int) -> Row:
    return at, 0, 0, FLUSH, 0


def writes(*lpns: int, gap_ns: int = 0) -> list[Row]:
    return [write(i * gap_ns, lpn) for i, lpn in enumerate(lpns)]


def ran(
    config: ReferenceConfig, requests: list[Row], policy: Policy = greedy, horizon: int | None = None
) -> Reference:
    """The reference after these requests, and the engine like it, where that has such a policy."""
    label = next((name for name, rule in POLICIES.items() if rule is policy), None)
    if label is None or config.sub_blocks_per_block > 1:
        reference = Reference(config, policy)
        reference.run(requests, horizon=horizon)
        return reference
    sim, reference = run_both(config, label, requests, [], horizon)
    assert_same(sim, reference)
    assert first_fault(sim.arrays, 0) == NO_FAULT
    return reference


def plane_of(reference: Reference, lpn: int) -> int:
    return reference.device.plane_of_page(reference.device.logical[lpn].ppn)


def built(config: ReferenceConfig, *blocks: Sequence[str]) -> Device:
    """A device whose first blocks hold these pages, sub-block by sub-block: v valid, x invalid, . unwritten.

    Full blocks are in the index only, blocks with unwritten pages also in the pool; groups are up to date.
    """
    device = Device(config)
    lpn = 0
    for block, subs in enumerate(blocks):
        for sub, pages in zip(device.sub_blocks_of_block(block), subs, strict=True):
            device.written[sub] = len(pages.rstrip("."))
            for ppn, page in zip(device.pages_of_sub_block(sub), pages, strict=True):
                if page == "v":
                    device.logical[lpn].ppn = ppn
                    device.logical[lpn].version = device.logical[lpn].accepted = 1
                if page != ".":
                    device.physical[ppn] = (lpn, 1 if page == "v" else 0)
                lpn += page == "v"
        if device.written_in_block(block):
            device.enter_index(block)
        if device.free_in_block(block) == 0:
            device.pools[0].remove(block)
        device.reclassify(block)
    return device


def heat(device: Device, lpn: int, times: int) -> None:
    """So many updates of a page, without a write."""
    assert device.hotness is not None
    for _ in range(times):
        device.hotness.count_update(lpn)
