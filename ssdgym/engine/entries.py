"""The entry points for one device: create, advance, apply a decision, count lost pages.

The argument of an entry is the address at which `bind_device` has stored a device. So a device is unpacked
once for any number of calls. The two loops are compiled separately, each at its first use.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import typeof, types

from ssdgym.engine import operations
from ssdgym.engine.cells import end_life, has_lost, is_over
from ssdgym.engine.core.family import Arrays, Family, State, family_of
from ssdgym.engine.core.kernel import address_of, entry, entry_for, function_at, inlined, operation
from ssdgym.engine.core.pointer import STORED_BYTES
from ssdgym.engine.core.records import DISPATCH, ERASE_PAIR, MAX_PAIRS, NOTHING
from ssdgym.engine.core.status import END_OF_LIFE, NO_DECISION, NO_VICTIM, OK, OUT_OF_SPACE
from ssdgym.engine.decisions import decision_code, device_type, no_rules
from ssdgym.engine.loop import run_timed, run_untimed
from ssdgym.engine.time.events import format_control
from ssdgym.requests import REQUEST


@operation(optional=True)
def count_lost_pages(dev):
    """Count mapped logical pages whose physical page does not hold their current version."""
    lost = 0
    for lpn in range(dev.params[0].logical_pages):
        logical = dev.logical[lpn]
        if logical.ppn >= 0:
            page = dev.physical[logical.ppn]
            newest = page.lpn == lpn and page.version == logical.version
            lost += not (newest and operations.family_is_written(dev, np.int64(logical.ppn)))
    return lost


#: Most tuples stored for a device: the device itself, and the views of its rules.
TUPLES = 5


@entry
def bind_device(state, i, rules, external, pairs, address):
    """Store device `i` of a batch and its rules at an address, with which entries are then called.

    `rules` (kinds + trackers,) RULE decide, except for the kinds in the bit set `external`; `pairs`
    (MAX_PAIRS,) is scratch. The address has room for `TUPLES` tuples of `STORED_BYTES` bytes. The stored
    device is valid while the arrays exist and its parameters do not change.
    """
    operations.family_bind(state, i, rules, external, pairs, address)


def call_on(function: Any, state: State, i: int, *others: Any, rules: np.ndarray | None = None) -> Any:
    """Call an entry for device `i` of a batch, with `others` as further arguments; return its result."""
    memory, pairs = _room(), np.zeros(MAX_PAIRS, ERASE_PAIR)
    bind_device(state, i, no_rules() if rules is None else rules, 0, pairs, memory.ctypes.data)
    return entry_for(function, _device_of(state), *map(typeof, others))(memory.ctypes.data, *others)


def _room() -> np.ndarray:
    return np.empty(TUPLES * STORED_BYTES, np.uint8)


def _device_of(state: State) -> Any:
    return device_type(family_of(state).arrays)


def advance(
    state: State,
    i: int,
    requests: np.ndarray,
    last: bool,
    rules: np.ndarray,
    external: int,
    pairs: np.ndarray,
) -> int:
    """Run a device until a decision is due outside the engine, its input ends, or its horizon is reached.

    Args:
        state: the batch.
        i: number of the device in the batch.
        requests: (m,) REQUEST, the present chunk of input. The first `control.cursor` requests are done.
        last: whether no more input follows.
        rules: (kinds + trackers,) RULE, the rules that take the decisions of kinds not in `external`.
        external: bit `1 << kind` for each kind that is decided outside the engine.
        pairs: (MAX_PAIRS,) ERASE_PAIR, scratch.

    Returns:
        INPUT_ENDED, HORIZON, END_OF_LIFE, PERIOD_DUE, FIRST_DECISION + kind of the decision due, or an error.
    """
    memory, loop = _room(), LOOPS[int(state.params["timed"][i, 0])]
    bind_device(state, i, rules, external, pairs, memory.ctypes.data)
    loop = entry_for(loop, _device_of(state), _REQUESTS, types.boolean)
    return int(loop(memory.ctypes.data, np.ascontiguousarray(requests, REQUEST), last))


_REQUESTS = typeof(np.zeros(1, REQUEST))


def _loop_signature(arrays: Arrays) -> Any:
    """Return numba's signature of the loops of a family with these arrays: (device, requests, last)."""
    return types.int64(device_type(arrays), _REQUESTS, types.boolean)


def add_family(name: str, arrays: Arrays, versions: dict[Any, Any]) -> Family:
    """Make an FTL family.

    Args:
        name: value of `ftl.mapping` in the configuration of a device.
        arrays: arrays of a batch of the family's devices.
        versions: the family's function for each operation of [`operations`][ssdgym.engine.operations],
            [`loop`][ssdgym.engine.loop] and this module; operations with a default may be left out.
    """
    loop_at = function_at(types.FunctionType(_loop_signature(arrays)))

    @inlined
    def call_loop(dev, address, requests, last):
        return loop_at(address)(dev, requests, last)

    # This is the only operation that is called with a batch.
    operations.family_bind.of(arrays.state)(versions[operations.family_bind])
    for declared, version in {**versions, operations.family_run_loop: call_loop}.items():
        declared.of(arrays.device)(version)
    return Family(name, arrays)


@inlined
def _begun(dev):
    """Attach the rules of a device; return OK, or why it cannot run (end of life, or a decision is due)."""
    if is_over(dev):
        return np.int64(END_OF_LIFE)
    if dev.control[0].decision_plane >= 0:
        return decision_code(dev)
    operations.family_attach_rules(dev)
    return np.int64(OK)


@entry
def _untimed_loop(dev, requests, last):
    status = _begun(dev)
    return _ended(dev, run_untimed(dev, requests)) if status == OK else status


@entry
def _timed_loop(dev, requests, last):
    status = _begun(dev)
    return _ended(dev, run_timed(dev, requests, last)) if status == OK else status


@inlined
def _ended(dev, status):
    """Return `status`; if lost blocks are why no space or victim is left, end the life of the device."""
    if status in (OUT_OF_SPACE, NO_VICTIM) and has_lost(dev):
        end_life(dev)
        status = np.int64(END_OF_LIFE)
    return np.int64(status)


@entry
def _attach(dev):
    operations.family_attach_rules(dev)


def attach(state: State, i: int, rules: np.ndarray) -> None:
    """Attach rules that are not attached to device `i` yet, as the next `advance` would do."""
    call_on(_attach, state, i, rules=rules)


#: The loops by `params.timed`: untimed, event-driven.
LOOPS = (_untimed_loop, _timed_loop)


@cache
def _loop_address(family: Family, timed: int) -> int:
    return address_of(LOOPS[timed], _loop_signature(family.arrays))


def loop_addresses(state: State) -> np.ndarray:
    """Return the addresses, (2,) int64, of the untimed and the event-driven loop; 0 for an unused loop."""
    family = family_of(state)
    addresses = np.zeros(2, np.int64)
    for timed in np.unique(state.params["timed"]):
        addresses[timed] = _loop_address(family, int(timed))
    return addresses


@inlined
def settled(dev, status):
    """If `status` is OK, mark the due decision as taken, so that the device can continue; return `status`."""
    if status == OK:
        control = dev.control[0]
        control.decision_plane = -1
        if dev.params[0].timed and control.resumes == NOTHING:
            control.resumes = DISPATCH
    return np.int64(status)


@entry
def _apply(dev, chosen, action):
    if dev.control[0].decision_plane < 0:
        return np.int64(NO_DECISION)
    return settled(dev, operations.family_apply_action(dev, chosen, action))


_CHOICE = typeof(np.zeros(MAX_PAIRS, ERASE_PAIR))


def apply(state: State, i: int, rules: np.ndarray, chosen: np.ndarray, action: int) -> int:
    """Carry out the decision that is due; return OK, or a negative error, which leaves the device unchanged.

    For ERASE and LEVEL the answer is the erase set `chosen` (MAX_PAIRS,), otherwise the number `action`.
    """
    memory, chosen = _room(), np.ascontiguousarray(chosen, ERASE_PAIR)
    bind_device(state, i, rules, 0, chosen, memory.ctypes.data)
    carry_out = entry_for(_apply, _device_of(state), _CHOICE, types.int64)
    return int(carry_out(memory.ctypes.data, chosen, action))


@entry
def _format(dev):
    for lpn in range(dev.params[0].logical_pages):
        dev.logical[lpn].ppn = -1
    format_control(dev)
    operations.family_format(dev)


def format_device(state: State, i: int) -> None:
    """Turn zeroed arrays with parameters into an empty device."""
    call_on(_format, state, i)


@entry
def _count_lost(dev):
    return count_lost_pages(dev)


def count_lost(state: State, i: int) -> int:
    """Count mapped logical pages whose physical page does not hold their current version."""
    return int(call_on(_count_lost, state, i))


def lost_counter(state: State) -> Any:
    """Return a version of `count_lost` that takes the address of a bound device."""
    return entry_for(_count_lost, _device_of(state))
