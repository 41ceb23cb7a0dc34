"""The hot filter of MiDAS: a counter of two bits for each page says whether the page is hot."""

from ssdgym.policy import kernel

#: A page is hot while its counter is at the top.
FULL = 3
#: Groups of blocks whose pages are judged: that of hot pages, and that of the other pages of the host.
HOT, HOST = 0, 1


@kernel
def heat_after_overwrite(heat, group, age, tau):
    """Return the counter of a page that the host writes again.

    Args:
        heat: the counter.
        group: of the block that holds the old copy.
        age: host pages since that block was closed, 0 for an open one.
        tau: a page of the group `HOST` that was overwritten later than this is not hot.
    """
    if group == HOT or (group == HOST and age <= tau):
        return min(heat + 1, FULL)
    return max(heat - 1, 0) if group == HOST else heat


@kernel
def heat_after_move(heat, group):
    """Return the counter of a page that is still valid when its block, of this group, is collected."""
    if group == HOT:
        return max(heat - 2, 0)
    return max(heat - 1, 0) if group == HOST else heat


@kernel
def next_tau(tau, mean_age):
    """Return the threshold after a window of `tau` overwrites.

    Args:
        tau: the threshold of the window.
        mean_age: of the victims of the hot group in the window, in host pages since they were closed.
    """
    return 1.5 * tau if mean_age >= 2.0 * tau else (mean_age + tau) / 2.0
