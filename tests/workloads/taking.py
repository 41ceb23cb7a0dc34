"""Take requests from streams, and copy what hands them out."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from ssdgym.workloads import REQUEST, RequestStream

#: Ways to copy a stream, or a source.
each_clone = pytest.mark.parametrize("clone", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])


def take(stream: RequestStream, requests: int = 10**9, portion: int = 10_000) -> np.ndarray:
    """Return the next requests, taken so many at a time; by default all that are left."""
    portions = [np.zeros(0, REQUEST)]
    while requests and len(got := stream.next(min(portion, requests))):
        portions.append(got)
        requests -= len(got)
    return np.concatenate(portions)
