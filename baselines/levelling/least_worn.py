"""Dynamic wear levelling."""

from ssdgym.policy import allocation_policy, least_worn_free


@allocation_policy(
    "least_worn",
    source="dynamic wear levelling: Gal and Toledo, ACM Computing Surveys 37(2), 2005, section 3",
)
def least_worn(view, plane, stream, parameters):
    """Open the free block that was erased least, of equals the one that was freed first.

    Blocks that hold cold data are never free and keep their few erases: they are for static wear levelling.
    """
    return least_worn_free(view, plane)
