"""WARCIP: pages of the host are clustered by how long it takes until they are written again."""

from typing import Any

from ssdgym.policy import kernel, placement_policy

_MOST = 5

#: The clusters in their order; `clusters` is 0 before the first page is written.
_MEMORY: list[Any] = [
    ("clusters", "i8"),
    ("stream", "i8", (_MOST,)),
    ("centre", "f8", (_MOST,)),
    ("pages", "i8", (_MOST,)),  # that the centre is the mean of
    ("writes", "i8", (_MOST,)),  # since clusters were last balanced
    ("blocks", "i8"),  # filled since then
    ("ending", "i8"),  # stream of the cluster that ends with its block, 0 for none
]


@placement_policy(
    "warcip",
    source="Yang, Pei and Yang, SYSTOR 2019; in the form of SepBIT, FAST 2022, in host pages",
    streams=_MOST + 1,
    relocation_streams=1,
    parameters={"period": (256, 1)},
    page=[("written", "i8"), ("penalty", "i8")],
    memory=_MEMORY,
)
def warcip(view, plane, lpn, source, parameters):
    """Put relocated pages into stream 0, and pages of the host into those of up to five clusters.

    What is clustered is the number of host pages since the page was last written, 0 for one that never was.
    If the page has been relocated since, the host pages between that write and the last relocation are added.
    The cluster is the one whose centre is nearest, the last of equals. Its centre is the mean of the pages
    that it got since it last filled a block; until then it is what it was. All centres are 0 at first.

    After every `period` blocks that clusters have filled they are balanced: the first cluster that got more
    than half of the pages since the last time is divided, if there are fewer than five. The new cluster comes
    before it, halfway between its centre and that of the cluster before, 0 for none, and has the lowest
    stream that is free. If none is divided, and no cluster is ending, the first that got fewer pages than a
    block has is: it ends when it fills its block, unless it is the only one.
    """
    if source >= 0:
        return 0
    memory = view.memory[0]
    if memory.clusters == 0:
        return _MOST
    interval = _interval(view, lpn, view.control[0].clock)
    nearest, least = 0, float("inf")
    for k in range(memory.clusters - 1, -1, -1):
        distance = abs(memory.centre[k] - interval)
        if distance < least:
            nearest, least = k, distance
    return memory.stream[nearest]


@kernel
def _interval(view, lpn, clock):
    """Return what a page is clustered by that is written now, after so many host pages."""
    page = view.page_memory[lpn]
    return clock + 1 - page.written + page.penalty if page.written > 0 else 0


@warcip.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Add the page to its cluster, unless it was overtaken; see whether the cluster has filled a block."""
    memory, clock = view.memory[0], view.control[0].clock
    pages_per_block = view.params[0].pages_per_block
    if memory.clusters == 0:
        memory.clusters = _MOST
        for k in range(_MOST):
            memory.stream[k] = k + 1
    number = -1
    for k in range(memory.clusters):
        if memory.stream[k] == view.block[page // pages_per_block].stream:
            number = k
    if view.logical[lpn].ppn == page:
        if number >= 0:
            sum_before = memory.centre[number] * memory.pages[number]
            memory.pages[number] += 1
            memory.writes[number] += 1
            memory.centre[number] = (sum_before + _interval(view, lpn, clock - 1)) / memory.pages[number]
        view.page_memory[lpn].written = clock
        view.page_memory[lpn].penalty = 0
    if number >= 0 and (page + 1) % pages_per_block == 0:
        _fill(memory, number)
        if memory.blocks >= parameters.period:
            _balance(memory, pages_per_block)


@warcip.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Note how old the page has become."""
    record = view.page_memory[lpn]
    if record.written > 0:
        record.penalty = view.control[0].clock - record.written


@warcip.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """Forget the page."""
    view.page_memory[lpn].written = view.page_memory[lpn].penalty = 0


@kernel
def _fill(memory, number):
    """Begin the mean of a cluster anew with its next block, or end the cluster."""
    memory.blocks += 1
    if memory.stream[number] != memory.ending:
        memory.pages[number] = 0
        return
    memory.ending = 0
    memory.clusters -= 1
    for k in range(number, memory.clusters):
        _copy(memory, k + 1, k)


@kernel
def _balance(memory, pages_per_block):
    """Divide a cluster, or let one end."""
    count, total = memory.clusters, 0
    for k in range(count):
        total += memory.writes[k]
    large, small = -1, -1
    for k in range(count - 1, -1, -1):
        if 2 * memory.writes[k] > total:
            large = k
        if memory.writes[k] < pages_per_block:
            small = k
    if large >= 0 and count < _MOST:
        _divide(memory, large)
    elif small >= 0 and memory.ending == 0 and count > 1:
        memory.ending = memory.stream[small]
    memory.blocks = 0
    memory.writes[:] = 0


@kernel
def _divide(memory, number):
    """Put a new cluster before one."""
    stream = 1
    for _ in range(memory.clusters):  # each may be in the way once
        for k in range(memory.clusters):
            if memory.stream[k] == stream:
                stream += 1
    for k in range(memory.clusters, number, -1):
        _copy(memory, k - 1, k)
    memory.clusters += 1
    before = memory.centre[number - 1] if number > 0 else 0.0
    memory.stream[number] = stream
    memory.centre[number] = (before + memory.centre[number + 1]) / 2.0
    memory.pages[number] = 0


@kernel
def _copy(memory, source, target):
    memory.stream[target] = memory.stream[source]
    memory.centre[target] = memory.centre[source]
    memory.pages[target] = memory.pages[source]
    memory.writes[target] = memory.writes[source]
