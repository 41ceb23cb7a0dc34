"""What must hold of any device of the sub-page family, between any two runs."""

from __future__ import annotations

from collections import Counter

from .config import FGM, SUBFTL
from .simulator import SubpageReference


def check(reference: SubpageReference) -> None:
    """Raise AssertionError where the state contradicts itself, or data has been lost."""
    assert reference.counters["lost_pages"] == 0
    _check_map(reference)
    _check_pages(reference)
    _check_blocks(reference)
    _check_buffer(reference)
    _check_counters(reference)


def _check_map(reference: SubpageReference) -> None:
    """Every sector is mapped once, to a slot that holds its newest programmed version."""
    device, config = reference.device, reference.config
    slots = [sector.ppn for sector in device.logical if sector.ppn >= 0]
    assert sorted(slots) == device.valid_slots(range(config.flash_pages * config.slots_per_page))
    for lpn, sector in enumerate(device.logical):
        assert sector.version <= sector.accepted
        assert sector.ppn < 0 or device.stored(sector.ppn) == (lpn, sector.version)
    if config.kind != FGM:
        for group in range(config.logical_pages // config.slots_per_page):
            places = [device.logical[lpn].ppn for lpn in device.mapped_in(group)]
            main = [slot for slot in places if not device.is_in_region(device.block_of_slot(slot))]
            assert len({slot // config.slots_per_page for slot in main}) <= 1
            assert all(
                device.sector_in(slot) % config.slots_per_page == slot % config.slots_per_page
                for slot in main
            )


def _check_pages(reference: SubpageReference) -> None:
    """No page of a region of subFTL holds two valid subpages, and what is valid was programmed last."""
    device, config = reference.device, reference.config
    for page, use in enumerate(device.page_use):
        valid = [slot % config.slots_per_page for slot in device.valid_slots(device.slots_of_page(page))]
        in_region = device.is_in_region(page // config.flash_pages_per_block)
        if config.kind == SUBFTL and in_region:
            assert valid in ([], [use - 1])
        elif not in_region:
            is_written = page in _written(reference, page // config.flash_pages_per_block)
            assert use == (config.slots_per_page if is_written else 0)
        assert use <= config.slots_per_page and (use or not valid)


def _written(reference: SubpageReference, block: int) -> range:
    """The pages of a block of the main area that have been programmed."""
    pages = reference.device.pages_of_block(block)
    return pages[: reference.device.written[block] // reference.config.units_per_page]


def _check_blocks(reference: SubpageReference) -> None:
    """Every block is in the main area, where it is somewhere, or in a region, whose passes its pages fit."""
    device, config = reference.device, reference.config
    victims = {block for pairs in device.rounds.values() for block, _ in pairs}
    opened = {place.block for place in device.open.values()}
    for plane in range(config.planes):
        region, main = device.regions[plane], device.blocks_of_plane(plane)
        assert len(region.blocks) == config.region_blocks
        places = Counter([*device.pools[plane], *device.ages[plane], *(victims | opened).intersection(main)])
        assert places == Counter(block for block in main if device.is_usable(block))
        assert all(device.written_in_block(block) == 0 for block in [*device.pools[plane], *region.blocks])
        for block in region.blocks if config.kind == SUBFTL else []:
            uses = [device.page_use[page] for page in device.pages_of_block(block)]
            assert max(uses) <= region.passes[block] <= config.slots_per_page
            if config.advance == "always" and block not in (region.open, region.victim):
                assert len(set(uses)) == 1 or region.passes[block] == 1
        if config.kind == SUBFTL:
            assert (region.reserve is None) == (region.victim is not None)


def _check_buffer(reference: SubpageReference) -> None:
    """What waits in the buffer has been promised; at rest and not at its end, nothing else has."""
    device, buffer = reference.device, reference.loop.buffer
    assert len(buffer) <= reference.config.buffer_groups
    waiting = {lpn for dirty in buffer.values() for lpn in dirty}
    assert all(0 < len(dirty) < reference.config.slots_per_page for dirty in buffer.values())
    promised = {lpn for lpn in range(len(device.logical)) if device.newer_version_waits(lpn)}
    assert waiting <= promised
    if not device.life.over and not getattr(reference.loop, "in_flight", []):
        assert waiting == promised


def _check_counters(reference: SubpageReference) -> None:
    """What was programmed for partial flushes is part of all that was programmed."""
    counters, config = reference.counters, reference.config
    programmed = counters["full_programs"] * config.slots_per_page + counters["subpage_programs"]
    assert counters["small_flash_bytes"] <= programmed * config.subpage_bytes
    assert counters["small_write_bytes"] <= counters["host_pages_written"] * config.subpage_bytes
