"""Hot host pages go to the sub-blocks that would be erased next, all other pages to stream 0.

Hotness is that of `hot_cold` (E22 to E25).

* **E27** A hot host page goes to a block in the pool whose best set (E43) has unwritten pages. If there is no
  such block, it goes to any block in the pool with a best set. Of several blocks, the one whose best set has
  the highest benefit is chosen (ties as for the best set of a plane). The page goes to the lowest sub-block
  with unwritten pages of the best set or, if the set has none, of the block. If no block in the pool has a
  best set, the page goes to stream 0.
"""

from typing import Any

from ssdgym.baselines.orders import both, fields_of
from ssdgym.baselines.placements import hotness
from ssdgym.baselines.victims.gsm import BEST_SET, beats, by_benefit, keep_best_sets, renew, touch
from ssdgym.baselines.victims.table_bytes import best_set_bytes, bits_of, tree_bytes
from ssdgym.policy import (
    MAX_STREAMS,
    POOLED,
    block_order,
    first_writable,
    kernel,
    placement_policy,
    whole_mask,
)


@kernel
def _can_be_written(view, block):
    renew(view, block)
    return view.block[block].status & POOLED != 0 and view.block_memory[block].mask != 0


@kernel
def _is_target_before(view, a, b):
    ours, theirs = view.block_memory[a].writable, view.block_memory[b].writable
    return ours > theirs if ours != theirs else beats(view, a, b)


_targets = block_order("target", _can_be_written, _is_target_before)
_next_target, _FIELDS = _targets.first, fields_of(by_benefit, _targets)


def _controller_bytes(device: Any) -> int:
    """Return the bytes of best sets, each with two writable bits, of two orders of blocks, and of hotness."""
    return best_set_bytes(device, bits_of(2)) + 2 * tree_bytes(device) + hotness.table_bytes(device)


@placement_policy(
    "hot_to_victims",
    source="Gong, Shen and Shu, SpeedupGC, section II-B (GSM+)",
    streams=1,
    relocation_streams=1,
    relocated_to=0,
    targets=True,
    block=[*BEST_SET, *_FIELDS["block"]],
    stream=_FIELDS["stream"],
    memory=hotness.MEMORY,
    table=hotness.table_words,
    controller_bytes=_controller_bytes,
    counted=["hot_pages_written"],
)
def hot_to_victims(view, plane, lpn, source, parameters):
    """Return the sub-block of E27 for a hot host page, otherwise stream 0."""
    if source >= 0 or hotness.is_first_write(view, lpn) or hotness.group_once_counted(view, 0, lpn) == 0:
        return 0
    block = _next_target(view, plane)
    if block < 0:
        return 0
    sub = first_writable(view, block, view.block_memory[block].mask)
    return MAX_STREAMS + (sub if sub >= 0 else first_writable(view, block, whole_mask(view)))


@hot_to_victims.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Count the write in the hotness table."""
    hotness.note_write(view, 0, lpn, old_page, page, False)


keep_best_sets(hot_to_victims, both(touch, _targets.touch))
