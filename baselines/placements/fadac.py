"""FADaC: pages are separated by how often they are written, against an average that fades."""

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
    """Return the average; if a host page is the first of its request, first update it by the request."""
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

    `average` moves towards the length of each request, before its first page is placed, by the difference
    divided by the number of valid pages. A page's `writes` are its host writes minus its relocations, the
    present write or relocation included, and at least 0. Its stream is how often `average` has to be
    multiplied by 10 to reach `writes`, at most 5. (In the original paper the count of each page fades; here,
    as in the paper that compares it, the device has one average that fades.)

    A page exactly on a boundary (`writes` is 1, 10, 100, .. times the average) goes to the colder stream, or
    to the hotter one if `inclusive` is not 0. Both are assumptions: the paper's text was not at hand, and the
    simulator of the comparison sometimes rounds up and sometimes down. The choice matters if all requests
    have one page: then the average is 1, and so are the `writes` of all pages written once.
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
    """Count the write and, with the first page of a request, the request."""
    is_new = old_page < 0 and view.logical[lpn].ppn == page
    view.memory[0].average = _average(view, lpn, _valid_pages(view) - is_new)
    view.page_memory[lpn].writes += 1


@fadac.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Subtract the relocation from the page's writes."""
    view.page_memory[lpn].writes = max(view.page_memory[lpn].writes - 1, 0)


@fadac.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """Forget the page."""
    view.page_memory[lpn].writes = 0
