"""Hot pages go to blocks of the group of their hotness, others to any sub-block at random.

Hotness is that of `hot_cold` (E22 to E25).

* **E28** The blocks of a plane are in `g` *block groups* of at most `m = B // (g - 1) - 1` blocks; at the
  start block `j` of a plane is in group `1 + j % g`.
* **E29** A block's *rank* is the benefit of its best set (0 without one); under hardware isolation the
  number of its sub-blocks all of whose pages are written and invalid. Of equal ranks the larger is the one
  whose best set would be chosen first as best of the plane; under hardware isolation, and without best
  sets, that of the lower block.
* **E30** A block is *reclassified* when one of its pages becomes invalid or is programmed (one dead at
  birth: once, with that page invalid), and when a round on it ends; a victim keeps group and rank until
  then. To reclassify block `b` with new rank `r`:
    1. Take `b` out of its group.
    2. `l` is the largest number of a non-empty group whose smallest rank is below `r` (a tie is not), or 1.
    3. If group `l` has `m` blocks and one of the groups `1..l-1` has fewer, the smallest of group `l` moves
       to group `l - 1`; if that has `m` blocks, its smallest first moves to `l - 2`, and so on. `b` joins
       group `l`.
    4. Else `b` joins group `l`; if that has more than `m` blocks now, its largest (which may be `b`) moves
       to `l + 1`, and so on.
* **E31** A hot page of hotness group `i`, host or relocated, is scattered to the first that exists of:
    1. the lowest block of group `i` in the pool whose best set has unwritten pages: the lowest such
       sub-block of the set;
    2. the lowest block of group `i` in the pool: its lowest sub-block with unwritten pages;
    3. as 2, of group `i + 1`, `i - 1`, `i + 2`, `i - 2` and so on.
* **E32** Any other page goes to a random block of the pool, to its lowest sub-block with unwritten pages:
  the first in the pool of the blocks `below(B)` of the draws `first + 0..63`, else the first in the pool
  from that of draw `first + 64` upwards, wrapping. A host page uses random stream 4, decision `clock`,
  `first = 0`; a relocated page random stream 5, decision `rounds`, `first = 65 * page`, with its page
  number within its block.
* **E33** With `hotness.scatter: block` such a page goes to the open block of stream 0. Where none is open,
  the block of E32 is opened and kept until full: in neither pool nor index, with rank 0, without hot pages,
  and reclassified only when opened and closed.
* **E34** When `hotness_groups` starts on a device with data (`preconditioning: until_gc_greedy`), the open
  block of stream 0 goes with its pages to the tail of the pool and into the index, and the blocks of a
  plane are dealt by rank: the one with `k` below it to group `1 + k * g // B`. Other placements go on with
  the open blocks.
"""

from ssdgym.policy import built_in_placement

built_in_placement("hotness_groups", source="Gong, Shen and Shu, SpeedupGC, sections III-C and III-D")
