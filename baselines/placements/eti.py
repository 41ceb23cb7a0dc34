"""ETI: the logical space is divided into extents, and each has a count of the requests that wrote to it."""

from ssdgym.policy import kernel, placement_policy

_MOST = 1024
_HOT, _LARGEST = 4, 15


@placement_policy(
    "eti",
    source="Shafaei, Desnoyers and Fitzpatrick, HotStorage 2016; in the form of SepBIT, FAST 2022",
    streams=3,
    relocation_streams=1,
    parameters={"extents": (_MOST, 1, _MOST), "period": (4096, 1)},
    memory=[("first", "i8", (_MOST,)), ("count", "u1", (_MOST,)), ("extents", "i8"), ("requests", "i8")],
)
def eti(view, plane, lpn, source, parameters):
    """Put pages of the host into stream 0 if the count of their extent is 4 or more, else into stream 1.

    Relocated pages go to stream 2. There is one extent at first, the logical space, and its count is 0. A
    request of the host is counted with its first page, before that is placed: extents are divided where it
    begins and ends, and every extent in it counts it, up to 15. An extent that has 15 is not divided; nor is
    one where there would be more than `extents` of them, which does not count the request either. After every
    `period` requests counts are halved, rounded down, and each extent joins the one before if that has the
    same count, or if both are below 4; the count of the first one remains.
    """
    if source >= 0:
        return 2
    memory = view.memory[0]
    if memory.extents == 0:
        return 1
    number = _extent_of(memory, lpn)
    count = memory.count[number]
    if lpn == view.control[0].request_lpn:
        last = lpn + view.control[0].request_pages
        cuts = (memory.first[number] < lpn) + (last < _end_of(view, number))
        count += cuts == 0 or memory.extents + cuts <= parameters.extents
    return 0 if count >= _HOT else 1


@kernel
def _extent_of(memory, lpn):
    """Return the number of the extent that holds a page."""
    low, high = 0, memory.extents
    while high - low > 1:
        middle = (low + high) // 2
        if memory.first[middle] <= lpn:
            low = middle
        else:
            high = middle
    return low


@kernel
def _end_of(view, number):
    """Return the page behind an extent."""
    memory = view.memory[0]
    return memory.first[number + 1] if number + 1 < memory.extents else view.params[0].logical_pages


@eti.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Count the request with its first page."""
    control, memory = view.control[0], view.memory[0]
    if lpn != control.request_lpn:
        return
    memory.extents = max(memory.extents, 1)
    at, end = lpn, lpn + control.request_pages
    while at < end:
        number = _extent_of(memory, at)
        extent_end = _end_of(view, number)
        before, behind = memory.first[number] < at, end < extent_end
        cuts = before + behind
        can_count = cuts == 0 or memory.extents + cuts <= parameters.extents
        if memory.count[number] < _LARGEST and can_count:
            if before:
                number += 1
                _insert(memory, number, at)
            if behind:
                _insert(memory, number + 1, end)
            memory.count[number] += 1
        at = extent_end
    memory.requests += 1
    if memory.requests >= parameters.period:
        memory.requests = 0
        _decay(memory)


@kernel
def _insert(memory, number, first):
    """Let an extent begin at a page, with the count of the one that it is cut off."""
    for k in range(memory.extents, number, -1):
        memory.first[k] = memory.first[k - 1]
        memory.count[k] = memory.count[k - 1]
    memory.extents += 1
    memory.first[number] = first
    memory.count[number] = memory.count[number - 1]


@kernel
def _decay(memory):
    """Halve the counts, and join extents that are alike."""
    last = 0
    memory.count[0] //= 2
    for k in range(1, memory.extents):
        count = memory.count[k] // 2
        if count != memory.count[last] and max(count, memory.count[last]) >= _HOT:
            last += 1
            memory.first[last] = memory.first[k]
            memory.count[last] = count
    memory.extents = last + 1
