"""The greedy scanning method: the run of sub-blocks that gives back most for what it costs."""

from ssdgym.policy import choose_best_set, victim_policy


@victim_policy(
    "gsm",
    source="Chang et al., CODES+ISSS 2016; as compared with in SpeedupGC, section IV",
    erase_unit="sub_block_run",
    isolation="software",
)
def gsm(dev, plane, parameters, choice):
    """The run of a plane's sub-blocks of the highest recycle benefit, its neighbours' moves counted.

    Where GC has to gain pages and that run gains none: the whole block with most invalid pages.
    """
    return choose_best_set(dev, plane, choice)
