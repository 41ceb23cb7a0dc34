"""Decisions: their kinds, who takes them, and calls of rules by address.

A decision is due before the state changes. If its kind is in the bit set `external`, it is taken outside the
engine, by an environment or Python code; otherwise a rule takes it. Choosing is pure: in the same state a
rule always chooses the same. A rule learns only in hooks, which the engine calls at events of pages, blocks
and dies, and which write to the rule's memory.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from ssdgym.engine.core.bits import lowest_of, quotient
from ssdgym.engine.core.family import Arrays
from ssdgym.engine.core.handle import PARAMETERS, pointer_to, record_behind
from ssdgym.engine.core.kernel import function_at, inlined, kernel
from ssdgym.engine.core.pointer import pointer_type
from ssdgym.engine.core.records import CASE, ERASE_PAIR, MAX_PAIRS, MAX_STREAMS, PLAN, POOLED
from ssdgym.engine.core.status import FIRST_DECISION, ILLEGAL_ANSWER, OK

#: Kinds of decisions: the erase set of a plane; the target of a host page; the target of a relocated page;
#: whether flushed or collected data goes to the region; the plan of a merge; how many commands of GC an idle
#: die runs; the free block to open for a stream; the block to empty in order to level wear.
ERASE, PLACE, RELOCATE, REGION, MERGE, IDLE, ALLOCATE, LEVEL = range(8)
KINDS = ("ERASE", "PLACE", "RELOCATE", "REGION", "MERGE", "IDLE", "ALLOCATE", "LEVEL")
#: Number of the first tracker: trackers follow the rules of all kinds.
TRACKERS = len(KINDS)
#: Number of the kinds between PLACE and IDLE, whose rules hook no events.
_SKIPPED = IDLE - PLACE - 1
#: Bit of `external`: the stream chosen for the first page of a request holds for all pages of the request.
WHOLE_REQUESTS = 1 << 16
#: Bits of `external` for the two sorts of REGION decisions that can be taken outside the engine: those about
#: parts of groups that leave the write buffer, and those about subpages of a region that is collected.
ASK_FLUSHES, ASK_COLLECTED = 1 << 17, 1 << 18
#: Most parameters of a rule.
MAX_PARAMETERS = 64
#: Result of `request_action` while the decision has not been taken outside the engine.
PENDING = -1000

#: Events that a rule can hook: events of a page, of a block, and of an idle die.
PAGE_EVENTS = (
    "written",  # the page has been programmed for the host
    "relocated",  # garbage collection has moved the page
    "trimmed",
    "invalidated",  # the page's old data is overwritten (then "written" follows) or trimmed
)
BLOCK_EVENTS = (
    "opened",  # the block has been opened for a stream
    "closed",  # the block was open and is full
    "scattered",  # a page of a block in the pool has been programmed; the block may be full now
    "collected",  # the block has become a victim, and none of its pages has been moved yet
    "erased",  # the block, or some of its sub-blocks, are about to be erased
    "recycled",  # the erase is done; the block is in the pool, retired or, in a plane given up, only indexed
    "attached",  # the rule is attached to a plane, which may hold data; the hook receives block -1
)
DIE_EVENTS = (
    "answered",  # a decision about the die has been taken
    "resumed",  # the host has work for the die again
)
#: Bit of each event.
EVENTS = {name: 1 << k for k, name in enumerate((*PAGE_EVENTS, *BLOCK_EVENTS, *DIE_EVENTS))}
WRITTEN, RELOCATED, TRIMMED, INVALIDATED = (EVENTS[name] for name in PAGE_EVENTS)
OPENED, CLOSED, SCATTERED, COLLECTED, ERASED, RECYCLED, ATTACHED = (EVENTS[name] for name in BLOCK_EVENTS)
ANSWERED, RESUMED = (EVENTS[name] for name in DIE_EVENTS)
#: Further bits of `hooks`. PERIOD: the engine stops for the placement's `period` function (plain Python).
#: IDLES: a rule or agent decides about idle dies. ORACLE: the rule for idle dies reads the next arrival.
#: ALLOCATES: a rule chooses the free block that is opened.
PERIOD, IDLES, ORACLE, ALLOCATES = (1 << len(EVENTS) + k for k in range(4))

#: A *target* says where a page is programmed. A target below MAX_STREAMS is a stream: the page goes to the
#: open block of the stream. Any other target is MAX_STREAMS + the number of a sub-block of a block in the
#: plane's pool: the page goes to the sub-block, and the block stays in the pool. If OPENS is added to such a
#: target, the block is first opened for stream 0, which must have no open block.
OPENS = 1 << 30

#: Answers to an IDLE decision taken outside the engine: how many commands of background GC the die may run
#: before its next decision is due. A round's erase is the last of them; TO_THE_END: all commands up to it.
TO_THE_END = 1 << 30
IDLE_STEPS = (0, 1, 2, 4, 8, 16, 32, TO_THE_END)

#: A rule: addresses of its function and hooks (0: none), bits of the events that it hooks, its parameters.
RULE = np.dtype(
    [
        ("choose", "i8"),
        ("hook", "i8", (len(EVENTS),)),  # addresses of hooks, by number of the event
        ("hooks", "i8"),
        ("parameters", "f8", (MAX_PARAMETERS,)),
        ("constants", "i8"),  # address of a record of constants that the function reads; 0: none
    ]
)
PAIRS_TYPE = typeof(np.zeros(MAX_PAIRS, ERASE_PAIR))

_VIEW, _PLANE, _PAGE, _BLOCK = types.int64, types.int64, types.int64, types.int64
#: (view, plane, parameters, erase set to fill) -> number of pairs filled; 0: the rule has chosen no set.
ERASE_SHAPE = types.int64(_VIEW, _PLANE, PARAMETERS, PAIRS_TYPE)
#: (view, plane, logical page, physical page that is relocated or -1 for a host page, parameters) -> target.
PLACE_SHAPE = types.int64(_VIEW, _PLANE, types.int64, _PAGE, PARAMETERS)
#: (view, die, ns to the next arrival or -1, parameters) -> number of commands; or -t: call again after t ns.
IDLE_SHAPE = types.int64(_VIEW, types.int64, types.int64, PARAMETERS)
#: (view, plane, stream, parameters) -> block of the pool.
ALLOCATE_SHAPE = types.int64(_VIEW, _PLANE, types.int64, PARAMETERS)
#: (view, plane, parameters) -> indexed block of the plane, -1 for none.
LEVEL_SHAPE = types.int64(_VIEW, _PLANE, PARAMETERS)
#: (plans (K,) PLAN, case (1,) CASE, parameters) -> number of a candidate.
MERGE_SHAPE = types.int64(typeof(np.zeros(1, PLAN)), typeof(np.zeros(1, CASE)), PARAMETERS)
#: Hook (view, plane, logical page, its old physical page or -1, its new physical page or -1, parameters).
PAGE_EVENT = types.void(_VIEW, _PLANE, types.int64, _PAGE, _PAGE, PARAMETERS)
#: Hook (view, plane, block or -1, parameters).
BLOCK_EVENT = types.void(_VIEW, _PLANE, _BLOCK, PARAMETERS)
#: Hook (view, die, number, parameters); the number is explained in `die_event`.
DIE_EVENT = types.void(_VIEW, types.int64, types.int64, PARAMETERS)
#: Signatures of a rule's function, by kind of decision, and of its hooks, by event.
SHAPES = {
    "erase": ERASE_SHAPE,
    "place": PLACE_SHAPE,
    "idle": IDLE_SHAPE,
    "merge": MERGE_SHAPE,
    "allocate": ALLOCATE_SHAPE,
    "level": LEVEL_SHAPE,
    **dict.fromkeys(PAGE_EVENTS, PAGE_EVENT),
    **dict.fromkeys(BLOCK_EVENTS, BLOCK_EVENT),
    **dict.fromkeys(DIE_EVENTS, DIE_EVENT),
}

_erase_rule_at = function_at(types.FunctionType(ERASE_SHAPE))
_place_rule_at = function_at(types.FunctionType(PLACE_SHAPE))
_idle_rule_at = function_at(types.FunctionType(IDLE_SHAPE))
_merge_rule_at = function_at(types.FunctionType(MERGE_SHAPE))
_allocate_rule_at = function_at(types.FunctionType(ALLOCATE_SHAPE))
_level_rule_at = function_at(types.FunctionType(LEVEL_SHAPE))
_page_event_at = function_at(types.FunctionType(PAGE_EVENT))
_block_event_at = function_at(types.FunctionType(BLOCK_EVENT))
_die_event_at = function_at(types.FunctionType(DIE_EVENT))


class Decider(NamedTuple):
    """Who takes the decisions of a device during a call of the engine: rules, or code outside."""

    external: Any  # int64: bit 1 << kind for every kind that is decided outside the engine
    rules: Any  # (kinds + trackers,) RULE: the rule of each kind of decision, then the trackers
    pairs: Any  # (MAX_PAIRS,) ERASE_PAIR: scratch that victim rules write erase sets to
    hooks: Any  # int64: bits of the events that rules hook; PERIOD, IDLES, ORACLE, ALLOCATES
    victim_view: Any  # int64: handle of the view of the victim rule
    place_view: Any  # int64: handle of the view of the placement and the trackers
    idle_view: Any  # int64: handle of the view of the rule for idle dies
    wear_view: Any  # int64: handle of the view of the rules for allocation and levelling


@cache
def device_type(arrays: Arrays) -> Any:
    """Return numba's type of a pointer to a device of a family, `Decider` included."""
    device: Any = arrays.device
    decider = Decider(0, no_rules(), np.zeros(MAX_PAIRS, ERASE_PAIR), 0, 0, 0, 0, 0)
    return pointer_type(device(*(array[0] for array in arrays.sample()), decider))


def no_rules() -> np.ndarray:
    """Make empty rules, (kinds,) RULE, for calls in which no rule is called."""
    return np.zeros(len(KINDS), RULE)


def constants_at(items: np.dtype) -> Any:
    """Return an intrinsic that takes a rule's parameters and returns its constants, one record of `items`."""
    places: Any = RULE.fields
    return record_behind(items, places["constants"][1] - places["parameters"][1])


@inlined
def is_external(dev, kind):
    """Return whether decisions of a kind are taken outside the engine."""
    return dev.decider.external & (1 << kind) != 0


@inlined
def request_action(dev, kind, plane, subject):
    """Return the action stored for a decision; if there is none, make the decision due and return PENDING."""
    control = dev.control[0]
    answer = np.int64(control.answer)
    control.answer = -1
    if answer < 0:
        control.decision_kind = kind
        control.decision_plane = plane
        control.decision_subject = subject
        return np.int64(PENDING)
    return answer


@inlined
def store_action(dev, action, answers):
    """Store an action for the decision that is due; return ILLEGAL_ANSWER unless 0 <= action < `answers`."""
    if action < 0 or action >= answers:
        return np.int64(ILLEGAL_ANSWER)
    dev.control[0].answer = action
    return np.int64(OK)


@inlined
def erase_set_by(rule, view, plane, pairs):
    """Call a victim rule, which writes an erase set to `pairs`; return the set's number of pairs."""
    return _erase_rule_at(rule.choose)(view, plane, pointer_to(rule.parameters, 0), pairs)


@inlined
def sub_block_at(target):
    """Return the sub-block that a target at or above MAX_STREAMS names."""
    return (target & ~np.int64(OPENS)) - MAX_STREAMS


@inlined
def _is_target(dev, plane, target):
    """Return whether a sub-block that a target names is in a plane's pool, has room, and may be opened."""
    params, sub = dev.params[0], sub_block_at(target)
    first, count = plane * np.int64(params.blocks) * params.sub_blocks, params.blocks * params.sub_blocks
    if sub < first or sub >= first + count or dev.sub_block[sub].written == params.pages_per_sub_block:
        return False
    pooled = dev.block[quotient(sub, params.sub_blocks)].status & POOLED != 0
    return pooled and (target < OPENS or dev.open_sub_block[plane * MAX_STREAMS] < 0)


@inlined
def target_by(dev, number, plane, lpn, source):
    """Return the target that rule `number` chooses for a page; ILLEGAL_ANSWER if it is no legal target."""
    rule = dev.decider.rules[number]
    target = _place_rule_at(rule.choose)(
        dev.decider.place_view, plane, lpn, source, pointer_to(rule.parameters, 0)
    )
    if 0 <= target < dev.params[0].streams:
        return target
    if target >= MAX_STREAMS and dev.params[0].targets and _is_target(dev, plane, target):
        return target
    return np.int64(ILLEGAL_ANSWER)


@inlined
def idle_by_rule(dev, die_number, gap_ns):
    """Return how many GC commands the rule lets an idle die run; `-t`: call the rule again after `t` ns.

    `gap_ns` is the time to the next arrival, -1 if the rule may not read it.
    """
    rule = dev.decider.rules[IDLE]
    view, parameters = dev.decider.idle_view, pointer_to(rule.parameters, 0)
    return _idle_rule_at(rule.choose)(view, die_number, gap_ns, parameters)


@inlined
def block_by(dev, plane, stream):
    """Return the free block that the allocation rule chooses for a stream of a plane."""
    rule = dev.decider.rules[ALLOCATE]
    parameters = pointer_to(rule.parameters, 0)
    return np.int64(_allocate_rule_at(rule.choose)(dev.decider.wear_view, plane, stream, parameters))


@inlined
def level_by(dev, plane):
    """Return the block of a plane that the levelling rule chooses to empty, or -1."""
    rule = dev.decider.rules[LEVEL]
    return np.int64(_level_rule_at(rule.choose)(dev.decider.wear_view, plane, pointer_to(rule.parameters, 0)))


@inlined
def merge_by(rule, plans, case):
    """Return the candidate that a merge rule chooses."""
    return _merge_rule_at(rule.choose)(plans, case, pointer_to(rule.parameters, 0))


@inlined
def decision_code(dev):
    """Return the status of a device with a due decision: FIRST_DECISION + the kind of the decision."""
    return np.int64(FIRST_DECISION) + np.int64(dev.control[0].decision_kind)


@inlined
def status_of(dev, code):
    """Return the status for a code below 0: for PENDING that of the decision due, otherwise the code."""
    return decision_code(dev) if code == PENDING else np.int64(code)


@inlined
def _view_of(decider, kind):
    """Return the handle of the view of the rule of a kind, or of a tracker (`kind` is its number)."""
    if kind == IDLE:
        return decider.idle_view
    if kind in (ALLOCATE, LEVEL):
        return decider.wear_view
    return decider.victim_view if kind == ERASE else decider.place_view


@inlined
def listeners(rules):
    """Return how many rules may hook events: all but those of RELOCATE, REGION and MERGE."""
    return np.int64(rules.shape[0] - _SKIPPED)


@inlined
def listener(k):
    """Return the number of the `k`-th rule that may hook events."""
    return np.int64(k if k <= PLACE else k + _SKIPPED)


@inlined
def hooked_by(rules):
    """Return the bits (EVENTS and further bits of `hooks`) of all events that some rule hooks."""
    events = np.int64(0)
    for k in range(listeners(rules)):
        events |= rules[listener(k)].hooks
    return events


@inlined
def _follows(attached, kind):
    """Return whether hooks of a rule are called: for a victim rule or placement, only once it is attached."""
    return kind > PLACE or attached & (1 << kind) != 0


@kernel
def _page_event(decider, attached, event, plane, lpn, old_page, page):
    for k in range(listeners(decider.rules)):
        kind = listener(k)
        rule = decider.rules[kind]
        view = _view_of(decider, kind)
        if rule.hooks & event and _follows(attached, kind):
            _page_event_at(rule.hook[lowest_of(event)])(
                view, plane, lpn, old_page, page, pointer_to(rule.parameters, 0)
            )


@inlined
def page_event(dev, event, plane, lpn, old_page, page):
    """Call the hooks of an event of a page: WRITTEN, RELOCATED, TRIMMED or INVALIDATED."""
    if dev.decider.hooks & event:
        _page_event(dev.decider, dev.control[0].attached, event, plane, lpn, old_page, page)


@kernel
def _block_event(decider, attached, event, plane, block):
    for k in range(listeners(decider.rules)):
        kind = listener(k)
        rule = decider.rules[kind]
        view = _view_of(decider, kind)
        if rule.hooks & event and _follows(attached, kind):
            _block_event_at(rule.hook[lowest_of(event)])(view, plane, block, pointer_to(rule.parameters, 0))


@inlined
def block_event(dev, event, plane, block):
    """Call the hooks of an event of a block: OPENED, CLOSED, SCATTERED, COLLECTED, ERASED or RECYCLED."""
    if dev.decider.hooks & event:
        _block_event(dev.decider, dev.control[0].attached, event, plane, block)


@kernel
def _call_attached(dev, kind):
    rule = dev.decider.rules[kind]
    if rule.hooks & ATTACHED:
        view, parameters = _view_of(dev.decider, kind), pointer_to(rule.parameters, 0)
        for plane in range(np.int64(dev.params[0].planes)):
            _block_event_at(rule.hook[lowest_of(ATTACHED)])(view, plane, np.int64(-1), parameters)


@inlined
def attach(dev, kind):
    """If the rule of a kind is not yet attached to a device, call its hook ATTACHED for every plane."""
    control = dev.control[0]
    if control.attached & (1 << kind) == 0:
        control.attached |= 1 << kind
        _call_attached(dev, kind)


@inlined
def attach_trackers(dev):
    """If the trackers are not yet attached to a device, call their hooks ATTACHED for every plane.

    The bit of RELOCATE, whose rules hook no events, stores whether they are.
    """
    control = dev.control[0]
    if control.attached & (1 << RELOCATE) == 0:
        for kind in range(TRACKERS, dev.decider.rules.shape[0]):
            if dev.decider.rules[kind].hooks & ATTACHED:
                control.attached |= 1 << RELOCATE
                _call_attached(dev, kind)


@kernel
def _die_event(decider, event, die_number, number):
    for k in range(listeners(decider.rules)):
        kind = listener(k)
        rule = decider.rules[kind]
        if rule.hooks & event:
            view = _view_of(decider, kind)
            _die_event_at(rule.hook[lowest_of(event)])(
                view, die_number, number, pointer_to(rule.parameters, 0)
            )


@inlined
def die_event(dev, event, die_number, number):
    """Call the hooks of ANSWERED (`number`: commands, or `-t` for a wait of `t` ns) or RESUMED (idle ns)."""
    if dev.decider.hooks & event:
        _die_event(dev.decider, event, die_number, number)
