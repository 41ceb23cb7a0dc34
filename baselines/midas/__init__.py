"""MiDAS and its hot filter: placements, and the computations between two steps of the engine.

The policy `midas` is the composition `chain+midas`; with `greedy+midas` the groups remain, but their sizes do
not choose the victim. Epochs, model and search run as plain Python between two steps of the engine. The
device has `C` pages and `L` logical pages, a block `S` pages; the model treats several planes as one device,
and each plane gets an equal share of every size.

1. **Beginning.** Closed blocks are in G1. Before the first configuration G1 is the last group and begins a
   tail of four; the victim is the best of all blocks; the hot filter ignores its first `L` events.
2. **Epochs** begin once the device is full and `L` further host pages are written. Each has `4 C` host pages
   and counts how long pages live, in bins as wide as a quarter of a block, 16 bins for each block; intervals
   that the end of the epoch cuts off are included. All pages are timed; the authors' simulator can time one
   in a hundred.
3. **Model.** The share of pages that die in each group follows from the intervals; for the last group it
   follows from Desnoyers' formula for greedy collection with two kinds of pages. The size of the hot group is
   chosen if at most 10 % of it was valid when collected and it took 15 % of the host pages, otherwise the
   measured size is kept.
4. **Search.** The hot group grows while each step lowers write amplification by 0.05; the last group is split
   up to eight times; then each group exchanges blocks with the last one until nothing improves. The search
   ignores valid pages of the hot group, as does the authors' simulator.
5. **Outcome.** No configuration is applied, and later epochs are twice as long (their bins twice as wide), if
   more than 18 % of the hot group was valid when collected (30 % of one block) or the last group is empty. A
   configuration must also predict less write amplification than the last `C` host pages of the epoch had. If
   it is applied, the tail becomes the last group; removed groups, and the oldest blocks of groups over their
   size, join it without a page being moved.
6. **Irregular groups.** Once every group has had a victim, the shares of valid pages are watched for 0.3
   epochs. The first group that is 0.1 above its prediction is merged with all after it into one with a tail.
   A group of which a plane collects 25 blocks for one host page is merged likewise. The last two groups are
   merged if no group is over its size and no block of the last one has an invalid page. If groups in the
   first half of the chain are merged in two epochs in a row, epochs double.

The paper and its simulator leave four choices open. Here the oldest block of a group over its size, if it has
no invalid page, joins the next group without copies and counts as a victim with all pages valid, under any
victim rule. Blocks of streams without a group count for the last group. A trim ends the interval of its page.
All blocks of one erase send their pages to one group.
"""
