"""What must hold of any device of the block family, between any two runs."""

from __future__ import annotations

from .config import NFTL
from .flash import D, U
from .simulator import BlockReference


def check(reference: BlockReference) -> None:
    """Raise AssertionError where the state contradicts itself, or data has been lost that was cared for."""
    device, config = reference.device, reference.config
    if config.disturb_care or config.disturb_tolerance is None:
        assert reference.counters["lost_pages"] == device.lost_now() == 0
        assert reference.counters["spoiled_pages"] == 0
    counters = reference.counters
    assert counters["gc_invocations"] == counters["merges"] + counters["m_merges"]
    assert counters["gc_invocations"] == counters["full_jobs"] + counters["pool_jobs"]
    assert config.timing == "event" or counters["gc_time_ns"] == 0
    for plane in range(config.planes):
        held = [block for bundle in device.bundles_of_plane(plane) for block in device.held(bundle)]
        usable = [block for block in device.blocks_of_plane(plane) if device.is_usable(block)]
        assert sorted([*held, *device.pools[plane]]) == usable
        assert all(not any(map(device.is_written, device.pages_of_block(b))) for b in device.pools[plane])
    for lpn, page in enumerate(device.logical):
        assert page.version <= page.accepted
        if device.is_mapped(lpn):
            assert device.block_of_page(page.ppn) in device.held(device.bundle_of(lpn))
            assert device.physical[page.ppn][0] == lpn
    for bundle in range(config.bundles):
        if not device.has_job(bundle):
            _check_bundle(reference, bundle)


def _check_bundle(reference: BlockReference, bundle: int) -> None:
    """Of one without a job."""
    device, config = reference.device, reference.config
    assert len(device.held(bundle)) <= config.physical_blocks
    if config.kind != NFTL:
        return
    data_block, update_block = device.slots[bundle][D], device.slots[bundle][U]
    if data_block is None:
        assert update_block is None
        return
    for page in filter(device.is_written, device.pages_of_block(data_block)):
        assert device.bundle_and_place(device.physical[page][0]) == (bundle, device.number_in_block(page))
    if update_block is not None:
        is_written = [device.is_written(page) for page in device.pages_of_block(update_block)]
        assert is_written == sorted(is_written, reverse=True) and is_written[0]
