"""The greedy scanning method: erase the run of sub-blocks that gives back most for its cost."""

from ssdgym.policy import choose_best_set, victim_policy


@victim_policy(
    "gsm",
    source="Chang et al., CODES+ISSS 2016; as compared with in SpeedupGC, section IV",
    erase_unit="sub_block_run",
    isolation="software",
)
def gsm(view, plane, parameters, choice):
    """Choose the best set of the plane: the run of sub-blocks of the highest recycle benefit.

    The benefit counts the moves of its neighbours. If the run is not legal because it gains no pages, choose
    the whole block with most invalid pages.
    """
    return choose_best_set(view, plane, choice)
