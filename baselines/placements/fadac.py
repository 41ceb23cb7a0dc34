"""FADaC: pages are separated by the number of their writes, compared with a moving average of requests."""

from ssdgym.policy import kernel, placement_policy

_STREAMS = 6


@kernel
def _valid_pages(view):
    """Return the valid pages of the device."""
    valid = 0
    for plane in range(view.params[0].planes):
        valid += view.plane[plane].valid
    return valid


@kernel
def _average(view, lpn, valid):
    """Return `average`, updated with the length of the request if `lpn` is the request's first page."""
    average = view.memory[0].average
    if lpn != view.control[0].request_lpn:
        return average
    return average + (view.control[0].request_pages - average) / max(valid, 1)


@placement_policy(
    "fadac",
    source="Kremer and Brinkmann, SYSTOR 2019, in the form that SepBIT, FAST 2022, compares with",
    streams=_STREAMS,
    relocation_streams=_STREAMS,
    parameters={"inclusive": 0},
    page=[("writes", "i4")],
    memory=[("average", "f8")],
)
def fadac(view, plane, lpn, source, parameters):
    """Put a page into one of six streams by the number of its writes: 0 is for rarely written pages.

    The device has one number `average`. Before the first page of a write request is placed, `average` changes
    by `(pages of the request - average) / valid pages of the device`. A page's `writes` are its host writes
    minus its relocations, the present write or relocation included, and at least 0. Its stream is how often
    `average` has to be multiplied by 10 to reach `writes`, at most 5. (In the original paper the count of
    each page decays; the paper that compares it has one average, as here.)

    A page exactly on a boundary (`writes` is 1, 10, 100, .. times `average`) goes to the colder stream, or to
    the hotter stream if `inclusive` is not 0. Both are assumptions: the paper's text was not at hand, and the
    simulator of the comparison sometimes rounds up and sometimes down. The choice matters if all requests
    have one page: `average` is then 1, and so are the `writes` of every page written once.
    """
    writes = view.page_memory[lpn].writes
    writes = max(writes - 1, 0) if source >= 0 else writes + 1
    bound = view.memory[0].average
    if source < 0:
        bound = _average(view, lpn, _valid_pages(view))
    inclusive = parameters.inclusive != 0.0
    stream = 0
    while stream < _STREAMS - 1 and (writes > bound or (inclusive and writes == bound)):
        bound *= 10.0
        stream += 1
    return stream


@fadac.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Count the write and, if the page is the first one of its request, update `average`."""
    is_new = old_page < 0 and view.logical[lpn].ppn == page
    view.memory[0].average = _average(view, lpn, _valid_pages(view) - is_new)
    view.page_memory[lpn].writes += 1


@fadac.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Subtract the relocation from the page's writes."""
    view.page_memory[lpn].writes = max(view.page_memory[lpn].writes - 1, 0)


@fadac.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """Set the page's writes to 0."""
    view.page_memory[lpn].writes = 0
