"""The opposite of dynamic wear levelling."""

from ssdgym.policy import allocation_policy, most_worn_free


@allocation_policy("most_worn", source="a bound of ours")
def most_worn(view, plane, stream, parameters):
    """Open the free block that was erased most, of equals the one that was freed first."""
    return most_worn_free(view, plane)
