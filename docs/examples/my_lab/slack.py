"""How the pages of a candidate compare with the plane's, and how far its collection has got."""

from ssdgym.envs.features import feature


@feature(low=-1, high=8)
def surplus(view, candidate, decision):
    """Return the invalid pages above the plane's mean block, in blocks."""
    params, plane = view.params[0], view.plane[decision.plane]
    pages = params.blocks * params.pages_per_block
    mean = (pages - plane.free_pages - plane.valid) / pages
    return candidate.invalid / params.pages_per_block - mean * candidate.pairs


@feature()
def collected(view, decision):
    """Return the rounds of collection so far, of one for each block; clipped."""
    return min(view.counters[0].gc_invocations / view.params[0].blocks, 1.0)
