"""Features: how a candidate compares with its plane, and how many GC rounds there have been."""

from ssdgym.envs.features import feature


@feature(low=-1, high=8)
def surplus(view, candidate, decision):
    """Return the candidate's invalid pages minus those of as many average blocks, per pages of a block."""
    params, plane = view.params[0], view.plane[decision.plane]
    pages = params.blocks * params.pages_per_block
    mean = (pages - plane.free_pages - plane.valid) / pages
    return candidate.invalid / params.pages_per_block - mean * candidate.pairs


@feature()
def collected(view, decision):
    """Return the GC rounds so far, divided by the number of blocks of a plane; at most 1."""
    return min(view.counters[0].gc_invocations / view.params[0].blocks, 1.0)
