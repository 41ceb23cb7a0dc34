"""DAC: a page moves up a region whenever it is written, and down whenever it is relocated."""

from ssdgym.policy import placement_policy

_REGIONS = 6


@placement_policy(
    "dac",
    source="Chiang, Lee and Chang, Software: Practice and Experience 1999; in the form of SepBIT, FAST 2022",
    streams=6,
    relocation_streams=5,
    page=[("region", "u1")],
)
def dac(view, plane, lpn, source, parameters):
    """Put pages into the stream of their region, 0 (coldest) to 5.

    The first write of a page, or its first write after a trim, puts it into region 0. Every other host write
    moves it up a region, at most to 5. Every relocation moves it down a region, but not below 0. (The paper
    moves up only young pages and down only old pages; comparisons since 2022 use this form.)
    """
    above = view.page_memory[lpn].region  # 1 + the region of the page; 0 for a page in no region
    return min(above, _REGIONS - 1) if source < 0 else max(above - 2, 0)


@dac.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Move the page up a region, unless a newer write or a trim has overtaken this write."""
    if view.logical[lpn].ppn == page:
        memory = view.page_memory[lpn]
        memory.region = min(memory.region + 1, _REGIONS)


@dac.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Move the page down a region, unless it is in region 0 or in none."""
    memory = view.page_memory[lpn]
    if memory.region > 1:
        memory.region -= 1


@dac.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """Put the page into no region."""
    view.page_memory[lpn].region = 0
