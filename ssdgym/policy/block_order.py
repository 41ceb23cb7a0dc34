"""Helpers that find a block: an order of a plane's blocks, a scan by a score, the next stream with room.

The order is a tournament tree: each leaf is a block, and each inner node stores that block of its two
children which comes first. A changed block is noted in a list; the next look-up updates the nodes above it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ssdgym.engine.core.kernel import helper as kernel
from ssdgym.engine.core.records import MAX_STREAMS
from ssdgym.engine.erase.legality import blocks_of, eligible


class BlockOrder(NamedTuple):
    """Kernels that keep blocks in order, and the fields that a rule must declare to use them."""

    block: list[tuple[str, str]]  # fields for the rule's option `block`
    stream: list[tuple[str, str]]  # fields for the rule's option `stream`
    touch: Any  # (view, block); call it when the result of `belongs` or `before` for a block may have changed
    first: Any  # (view, plane) -> the first block of the order, -1 if the order is empty


def block_order(name: str, belongs: Callable[..., bool], before: Callable[..., bool]) -> BlockOrder:
    """Make an order of the blocks of each plane.

    Args:
        name: prefix of the names of the fields; if a rule has several orders, their prefixes must differ.
        belongs: kernel (view, block) -> whether a block is in the order.
        before: kernel (view, a, b) -> whether block `a` of the order comes before `b`; it must break ties.
    """
    winner, following, noted, head = (f"{name}_{field}" for field in ("winner", "next", "noted", "head"))

    @kernel
    def touch(view: Any, block: Any) -> None:
        own = view.block_memory[block]
        if own[noted] == 0:
            holder = view.stream_memory[view.block[block].plane * view.params[0].streams]
            own[noted] = 1
            own[following] = holder[head]
            holder[head] = block + 1

    @kernel
    def at(view: Any, plane: Any, node: Any) -> Any:
        """Return the block at a node; node 1 is the root, and the leaves follow the inner nodes."""
        blocks = view.params[0].blocks
        if node < blocks:
            return view.block_memory[plane * blocks + node][winner] - 1
        block = plane * blocks + node - blocks
        return block if belongs(view, block) else -1

    @kernel
    def repair(view: Any, plane: Any, block: Any) -> None:
        """Update the nodes above a block, up to the first node that keeps its block, a different one."""
        blocks = view.params[0].blocks
        node = block - plane * blocks + blocks
        best = at(view, plane, node)
        while node > 1:
            other = at(view, plane, node ^ 1)
            if best < 0 or (other >= 0 and before(view, other, best)):
                best = other
            node >>= 1
            inner = view.block_memory[plane * blocks + node]
            if inner[winner] == best + 1 and best != block:
                return
            inner[winner] = best + 1

    @kernel
    def first(view: Any, plane: Any) -> Any:
        holder = view.stream_memory[plane * view.params[0].streams]
        while holder[head] > 0:
            block = holder[head] - 1
            own = view.block_memory[block]
            holder[head] = own[following]
            own[noted] = 0
            repair(view, plane, block)
        return at(view, plane, 1)

    fields = [(winner, "i4"), (following, "i4"), (noted, "u1")]
    return BlockOrder(fields, [(head, "i4")], touch, first)


def best_by(score: Callable[..., float]) -> Any:
    """Make a kernel (view, plane, parameters) that returns a plane's block of largest score, -1 for none.

    Args:
        score: kernel (view, block, parameters) -> float of 0 or more, or -1 to exclude the block. It is
            called for eligible blocks. If several blocks have the largest score, the lowest number is chosen.
    """

    @kernel
    def best_of(view: Any, plane: Any, parameters: Any) -> Any:
        best, best_score = -1, -1.0
        for block in blocks_of(view, plane):
            if eligible(view, block):
                found = score(view, block, parameters)
                if found > best_score:
                    best, best_score = block, found
        return best

    return best_of


@kernel
def stream_to_fill(view: Any, plane: Any, last: Any, streams: Any) -> Any:
    """Return the first stream above `last` with an open block, so that it gets filled; otherwise `last`."""
    for stream in range(last + 1, streams):
        if view.open_sub_block[plane * MAX_STREAMS + stream] >= 0:
            return stream
    return last
