"""MiDAS and its hot filter: placements, and the computations between two steps of the engine.

The policy `midas` is `chain+midas`; in `greedy+midas` the sizes of groups do not affect the victim. Epochs,
model and search are plain Python, run between two steps of the engine. The device has `C` pages and `L`
logical pages. A configuration is a set of sizes, one for each group. The model treats several planes as one
device, and each plane has an equal share of every size.

1. **Beginning.** Closed blocks are in G1. Until the first configuration, G1 is the last group and has a
   *tail*: pages are divided among four groups by the number of their relocations in G1. Until then, the
   victim is the best of all blocks. The hot filter ignores its first `L` events.
2. **Epochs** begin `L` host pages after the device is full. An epoch has `4 C` host pages. A histogram counts
   the intervals between writes of a page in the epoch; intervals that the epoch's end cuts off are estimated.
   A bin is a quarter of a block of host pages wide, so there are 16 bins for each block of the device.
3. **Model.** The share of pages that die in each group follows from the intervals. For the last group it
   follows from Desnoyers' formula for greedy collection with two kinds of pages. The search chooses the size
   of the hot group if its victims had at most 10 % valid pages and at least 15 % of the host pages went to
   it. Otherwise the group keeps its measured size.
4. **Search.** The hot group is enlarged while each step lowers write amplification by over 0.05; here its
   valid pages are ignored, as in the authors' simulator. The last group is split up to eight times. Then each
   group in turn exchanges blocks with the last one until nothing improves.
5. **Outcome.** No configuration is applied if victims of the hot group had more than 18 % valid pages (30 %
   if it has one block), or if the last group is empty. Later epochs and their bins are then twice as long. A
   configuration is applied only if its predicted write amplification is at most that of the last `C` host
   pages of the epoch. The old last group and tail, removed groups, and the oldest blocks of groups over
   their size join the new last group without relocations.
6. **Irregular groups.** Once every group has had a victim, the valid shares of victims are averaged for 0.3
   epochs. The first group whose mean is at least 0.1 above its prediction is merged with all later groups
   into one with a tail. If foreground GC collects 25 blocks in a plane between two host pages, the group of
   the last of these blocks is merged in the same way. The last two groups are merged if foreground GC finds
   no group over its size and no invalid page in the last group. If groups in the first half of the chain are
   merged in two epochs in a row, the length of epochs doubles.

The paper and its simulator leave four choices open. Under any victim rule, the oldest block of a group over
its size joins the next group without copies if it has no invalid page; it counts as a victim with all pages
valid. Blocks of streams without a group belong to the last group. A trim ends the interval of its page. Pages
of all blocks erased together go to one group. Every page is timed; the authors can time 1 % of them.
"""
