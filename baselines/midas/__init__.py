"""MiDAS and its hot filter: placements, and what is computed between two steps of the engine.

`midas` alone is the composition `chain+midas`; with `greedy+midas` the groups are kept, and their sizes
choose no victim. Epochs, model and search run as plain Python between two steps of the engine. `C` are the
pages of the device, `L` its logical pages, `S` those of a block; several planes are one device to the
model, with a share of every size each.

1. **Beginning.** Closed blocks are in G1. Without a configuration G1 is the last group, the first of the
   four of its tail; the victim is the best of all blocks; the hot filter ignores its first `L` events.
2. **Epochs** begin once the device is full and `L` further host pages are written. Each has `4 C` host
   pages and counts how long pages live, in `16` bins a block of a quarter of a block each, cut-off
   intervals included. All pages are timed; the authors' simulator can time one in a hundred.
3. **Model.** The share of pages that die in each group follows from the intervals, that of the last group
   from the formula of Desnoyers for greedy collection with two kinds of pages. The size of the hot group is
   chosen if at most 10 % of it was valid when collected and it took 15 % of the host pages, else it stays
   as measured.
4. **Search.** The hot group grows while each step gains 0.05; the last group is split up to eight times;
   then each size is changed against the last group's until nothing gets better. Meanwhile valid pages of
   the hot group do not count, as in the authors' simulator.
5. **Outcome.** Nothing is applied, and epochs are twice as long from then on (their bins twice as wide), if
   more than 18 % of the hot group was valid when collected (30 % of one block) or the last group is empty.
   Nor is a configuration that predicts more than was measured over the last `C` host pages of the epoch.
   Else the tail becomes the last group; groups that are no more, and the oldest blocks of those over their
   size, go into it without a page being moved.
6. **Irregular groups.** Once every group has had a victim, the shares of valid pages are watched for 0.3
   epochs. The first group that is 0.1 above its prediction becomes one with all behind it, with a tail; so
   it does where a plane collects 25 blocks for one host page, and the last two groups do where no group is
   over its size and no block of the last one has an invalid page. If that is in the first half of the chain
   in two epochs running, epochs double.

Where the paper or its simulator leave room: the oldest block of a group over its size that has no invalid
page joins the next group as it is, and counts as a victim with all pages valid, under any victim rule; the
last group fills what blocks of streams without a group have left; a trimmed page ends its interval; all
blocks of one erase send their pages to one group.
"""
