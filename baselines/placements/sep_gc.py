"""Host pages go to stream 0, relocated pages to stream 1."""

from ssdgym.policy import built_in_placement


def sep_gc(view, plane, lpn, source, parameters):
    """Return stream 0 for a host page, stream 1 for a relocated page."""
    return 0 if source < 0 else 1


built_in_placement("sep_gc", source="A baseline of SepBIT, Wang et al., FAST 2022 (SepGC)", equivalent=sep_gc)
