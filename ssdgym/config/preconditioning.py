"""What a device goes through before it is measured; no simulated time passes."""

from __future__ import annotations

from typing import Literal

Preconditioning = Literal[
    "none",  # nothing: the device is empty
    "fill",  # every page is written once
    "uniform",  # that, and uniformly random overwrites under greedy until garbage collection is steady
    "workload",  # likewise, with the writes of the workload
    "until_gc",  # random pages, under the policy that is measured, until every plane has collected
]
