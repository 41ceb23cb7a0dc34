"""Separate pages that were written again soon, other host pages, and relocated pages."""

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
    """Choose stream 2 for relocated pages, 1 for pages last written at most `span` host pages ago, else 0."""
    if source >= 0:
        return 2
    written_at = view.page_memory[lpn].written_at
    return 1 if written_at > 0 and view.control[0].clock - written_at <= parameters.span else 0


@recent.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Store the clock of the page's last write."""
    view.page_memory[lpn].written_at = view.control[0].clock
