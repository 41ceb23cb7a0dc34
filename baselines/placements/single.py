"""One write stream: every page goes to the open block of its plane."""

from ssdgym.policy import built_in_placement


def single(view, plane, lpn, source, parameters):
    """Return stream 0, the only one."""
    return 0


built_in_placement("single", source="The log of Rosenblum and Ousterhout, ACM TOCS 1992", equivalent=single)
