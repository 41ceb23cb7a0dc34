"""One write stream: every page goes to the open block of its plane."""

from ssdgym.policy import built_in_placement

built_in_placement("single", source="The log of Rosenblum and Ousterhout, ACM TOCS 1992")
