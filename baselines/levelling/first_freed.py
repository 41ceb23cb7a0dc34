"""Allocation by the order in which blocks were freed."""

from ssdgym.policy import allocation_policy


@allocation_policy("first_freed", source="folklore")
def first_freed(view, plane, stream, parameters):
    """Open the block that was freed first, as devices without an allocation do: first in, first out."""
    return view.plane[plane].pool_head
