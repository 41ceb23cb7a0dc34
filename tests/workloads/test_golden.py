"""The requests of every workload are those they have always been."""

from __future__ import annotations

import json

from tests.workloads.golden import DIGESTS, digests


def test_same_seed__gives_the_same_requests_as_ever() -> None:
    assert digests() == json.loads(DIGESTS.read_text(encoding="utf-8"))
