"""An order of the blocks of each plane by a rule's own key, which gives the first block without a scan.

It is a tournament tree: each leaf is a block, and each inner node holds the better block of its two children.
A changed block is only noted; the next look-up of the first block updates the nodes above it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ssdgym.engine.core.kernel import helper as kernel
from ssdgym.engine.core.records import MAX_STREAMS
from ssdgym.engine.erase.legality import blocks_of, eligible


class BlockOrder(NamedTuple):
    """Kernels that keep blocks in order, and the declarations that a rule needs for them."""

    block: list[tuple[str, str]]  # fields of the rule's record per block ...
    stream: list[tuple[str, str]]  # ... and per plane and stream
    touch: Any  # (view, block): notes that the key or the membership of a block has changed
    first: Any  # (view, plane) -> block, -1 if the order is empty


def block_order(name: str, belongs: Callable[..., bool], before: Callable[..., bool]) -> BlockOrder:
    """Make an order of blocks.

    Args:
        name: prefix of the names of the fields.
        belongs: kernel (view, block), whether a block is in the order.
        before: kernel (view, a, b), whether `a` comes before `b`. Both belong. One of two comes first.
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
        """Update the nodes above a block, up to a node that another block wins as before."""
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
    """Make a kernel (view, plane, parameters) that returns the best block of a plane, -1 if there is none.

    Args:
        score: kernel (view, block, parameters), called for eligible blocks; -1 excludes a block. If several
            blocks have the largest score, the one with the lowest number is the best.
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
    """Return the first stream after `last`, the last one in use, that has an open block; else `last`."""
    for stream in range(last + 1, streams):
        if view.open_sub_block[plane * MAX_STREAMS + stream] >= 0:
            return stream
    return last
