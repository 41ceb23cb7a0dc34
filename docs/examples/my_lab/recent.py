"""Pages that are soon written again share blocks."""

from ssdgym.policy import placement_policy


@placement_policy(
    "recent",
    source="an example",
    streams=3,
    relocation_streams=1,
    parameters={"span": (2000, 1)},
    page=[("written_at", "i8")],
)
def recent(view, plane, lpn, source, parameters):
    """Put a relocated page into stream 2, one written at most `span` host pages ago into 1, others into 0."""
    if source >= 0:
        return 2
    written_at = view.page_memory[lpn].written_at
    return 1 if written_at > 0 and view.control[0].clock - written_at <= parameters.span else 0


@recent.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Note when the page is written."""
    view.page_memory[lpn].written_at = view.control[0].clock
