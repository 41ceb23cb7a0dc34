"""The second family of the recipes runs through the entries of the page family, without touching it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from my_lab.chest import CHEST, DRAWER, DRAWERS, ChestState

from ssdgym.engine.core.records import ERASE_PAIR, MAX_PAIRS
from ssdgym.engine.core.status import FIRST_DECISION, HORIZON, ILLEGAL_ANSWER, INPUT_ENDED, OK
from ssdgym.engine.decisions import RULE, no_rules
from ssdgym.engine.entries import _format, advance, apply, count_lost, format_device
from ssdgym.engine.observation import ObservationBuffers, ObservationSpec, Shared, Tally
from ssdgym.engine.stepping import ADVANCE, DESCRIBE, Stepper
from ssdgym.simulator.build import copy_device, restore_device
from tests.engine.devices import random_writes, same_device

PAGES = 40
PAIRS = np.zeros(MAX_PAIRS, ERASE_PAIR)
OUTSIDE = 1 << DRAWER
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def chests(count: int) -> ChestState:
    """Empty devices of the second family."""
    sizes = dict.fromkeys(("sub_blocks", "window", "latencies", "bins", "tail"), 1)
    state = CHEST.arrays.allocate(count, {"logical_pages": PAGES, **sizes})
    state.params["logical_pages"] = PAGES
    for i in range(count):
        format_device(state, i)
    return state


def run(state: ChestState, external: int = 0) -> int:
    """Write 100 random pages, or go on writing them."""
    return advance(state, 0, random_writes(100, PAGES), True, no_rules(), external, PAIRS)


def test_rules_of_its_own__run_to_the_end() -> None:
    state = chests(1)
    assert run(state) == INPUT_ENDED
    assert state.counters["host_pages_written"][0, 0] == 100
    assert state.counters["erases"][0, 0] > 0
    assert count_lost(state, 0) == 0


def test_decisions_taken_outside__as_the_rule_does__the_same_device() -> None:
    inside, outside = chests(1), chests(1)
    run(inside)
    while (kind := run(outside, OUTSIDE)) != INPUT_ENDED:
        assert kind == FIRST_DECISION + DRAWER
        assert apply(outside, 0, no_rules(), PAIRS, DRAWERS) == ILLEGAL_ANSWER
        assert apply(outside, 0, no_rules(), PAIRS, int(np.argmin(outside.drawer[0]))) == OK
    assert not same_device(inside, 0, outside, 0), "one has been asked, the other not"
    for name in ("counters", "logical", "drawer"):
        assert np.array_equal(getattr(inside, name), getattr(outside, name))


def test_snapshot__goes_back() -> None:
    state = chests(1)
    run(state, OUTSIDE)
    saved = copy_device(state, 0)
    apply(state, 0, no_rules(), PAIRS, 2)
    run(state, OUTSIDE)
    assert not same_device(state, 0, saved, 0)
    restore_device(state, 0, saved)
    assert same_device(state, 0, saved, 0)


def test_step_of_a_batch__observes_and_decides() -> None:
    count = 4
    state = chests(count)
    state.control["horizon"] = 30
    view = ObservationBuffers.allocate(count, DRAWERS, columns=1, entries=1)
    shared, which = Shared.allocate(view, requests=50), np.arange(count)
    shared.requests[:] = random_writes(50, PAGES)
    shared.counts[:] = 50
    spec = ObservationSpec(no_rules(), OUTSIDE, np.zeros(0, RULE), False, 1, PAIRS)
    stepper = Stepper(state, which, [spec], view, shared, no_rewards(count))
    assert stepper.run(which, ADVANCE | DESCRIBE) == 0
    for step in range(30):
        assert view.mask.all()
        shared.actions[:] = step % DRAWERS
        assert stepper.first_invalid(which) == -1
        ended = stepper.run(which, ADVANCE | DESCRIBE)
    assert ended == count and (shared.status == HORIZON).all()
    assert (state.drawer.sum(axis=1) == 30 - 8 * state.counters["erases"][:, 0]).all()
    before = view.features.copy()
    stepper.run(which, DESCRIBE)
    assert np.array_equal(before, view.features)


def no_rewards(count: int) -> Tally:
    """Of devices that are neither rewarded nor tell anything."""
    numbers, none = np.zeros((0, count), np.int64), np.zeros((0, count))
    ones = np.ones(count)
    return Tally(
        ends=np.zeros(0, np.int64),
        counters=numbers,
        costs=none,
        weights=np.zeros(0),
        totals=none,
        terms=none,
        reward=np.zeros(count),
        reclaimed=np.zeros(count, np.int64),
        reclaiming=np.zeros((2, count), np.int64),
        reclaimed_pages=np.zeros(count, np.int64),
        price=ones,
        unit=ones,
        pays=np.zeros(1, np.int64),
        shown=np.zeros((1, count), np.int64),
        shown_counters=numbers,
    )


def test_importing_it__does_not_import_the_page_family() -> None:
    script = (
        "import sys, my_lab.chest; "
        "assert not [m for m in sys.modules if m.startswith('ssdgym.engine.page')], 'page family imported'"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=EXAMPLES, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_code_for_it__is_not_cached_for_processes_without_its_module() -> None:
    chests(1)
    folder = Path(_format._cache.cache_path)
    kept = [file for file in folder.glob("*_format*.nbc") if b"ChestState" in file.read_bytes()]
    assert _format.signatures and not kept
