"""MiDAS and its hot filter: placements, and the computations between two steps of the engine.

The policy `midas` is the composition `chain+midas`; with `greedy+midas` the groups remain, but their sizes do
not choose the victim. Epochs, model and search run as plain Python between two steps of the engine. The
device has `C` pages and `L` logical pages; the model treats several planes as one device, and each plane gets
an equal share of every size.

1. **Beginning.** Closed blocks are in G1. Until the first configuration, G1 is the last group and has a
   *tail*: it is divided into four groups by the number of relocations in it. In this time, the victim is the
   best of all blocks. The hot filter ignores its first `L` events.
2. **Epochs** begin once the device is full and `L` further host pages are written. An epoch has `4 C` host
   pages. It counts the intervals between writes of a page in a histogram, and estimates intervals that the
   epoch's end cuts off. A bin is a quarter of a block wide: `4 C` pages need 16 bins per block of the device.
3. **Model.** The share of pages that die in each group follows from the intervals; for the last group it
   follows from Desnoyers' formula for greedy collection with two kinds of pages. The search chooses the size
   of the hot group if its victims had at most 10 % valid pages and it took 15 % of the host pages; otherwise
   the group keeps its measured size.
4. **Search.** The hot group grows while each step lowers write amplification by 0.05; the last group is split
   up to eight times; then each group exchanges blocks with the last one until nothing improves. The search
   ignores valid pages of the hot group, as does the authors' simulator.
5. **Outcome.** If victims of the hot group had more than 18 % valid pages (30 % if it has one block), or the
   last group is empty, no configuration is applied, and later epochs and their bins are twice as long. A
   configuration must also predict less write amplification than the last `C` host pages of the epoch had. If
   it is applied, the tail becomes the last group; removed groups, and the oldest blocks of groups over their
   size, join the last group without relocations.
6. **Irregular groups.** Once every group has had a victim, the valid shares of victims are averaged for 0.3
   epochs. The first group whose share is 0.1 above its prediction is merged with all later groups into one
   with a tail; so is a group of which a plane collects 25 blocks for one host page. The last two groups are
   merged if no group is over its size and no block of the last group has an invalid page. If groups in the
   first half of the chain are merged in two epochs in a row, the length of epochs doubles.

The paper and its simulator leave four choices open. Here the oldest block of a group over its size, if it has
no invalid page, joins the next group without copies and counts as a victim with all pages valid, under any
victim rule. Blocks of streams without a group count for the last group. A trim ends the interval of its page.
All blocks of one erase send their pages to one group. Every page is timed; the authors can time 1 % of them.
"""
