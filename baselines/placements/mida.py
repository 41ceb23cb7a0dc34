"""MiDA: pages are separated by how often they have been relocated since the host wrote them."""

from ssdgym.policy import placement_policy

_LAST = 4


@placement_policy("mida", source="Park et al., MiDA, APSys 2021", streams=5, relocation_streams=4)
def mida(view, plane, lpn, source, parameters):
    """Put host pages into stream 0, and relocated pages into the stream after that of their block.

    Pages of stream 4, the last one, stay in it. The rule needs no records.
    """
    if source < 0:
        return 0
    return min(view.block[source // view.params[0].pages_per_block].stream + 1, _LAST)
