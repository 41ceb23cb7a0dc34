"""DOGI: a placement that learns how long pages live, its victims, and what is computed between two steps.

`dogi` alone is the composition `expired+dogi`. `C` are the pages of the device, `L` its logical pages, `S`
those of a block; the paper's sizes are scaled by its `L`, 128 GiB.

1. **Beginning.** There is no classifier: host pages that are not hot go to G1, a moved one goes one group
   on, G6 is the coldest, and the victim is the best of all blocks. A page is frozen until the host has
   overwritten it; all are frozen again every `6 L` host pages.
2. **Hot group.** `mu` begins at `0.006 L` host pages. Every `0.3 L` host pages write amplification is
   compared with that of the time before: where it has fallen by 5 % or more `mu` grows by `S`, where it has
   risen so much the last step is taken back. Times are counted in units of `4 S` by one byte.
3. **Samples** are taken from `2 C` host pages on, in turns of `0.78 L`: the classifier's inputs of one in
   so many pages that are not hot that 8,192 spread over the turn but for its last `0.3 L`, in which pages
   are only waited for. One not written again by then is dropped. With fewer than 100 samples the next turn
   adds to them.
4. **Training.** Six inputs, two hidden layers of 32 with ReLU, ten categories; dropout 0.4, cross-entropy,
   Adam with a step of 0.01 and weight decay 1e-5, batches of 128, 15 passes or 600 batches, from new
   weights each time. One sample in ten is held out. (The paper's prototype has 400,000 samples and a step
   of 3e-4.)
5. **Groups.** Of all ways to merge neighbouring categories into at most six groups the one of least
   predicted write amplification on the samples held out is taken. The coldest group is the rest of the
   device; none may get less than 0.05 % of the host pages. A classifier that is right less than one time in
   ten is not used, nor one for which no groups fit: the device then goes on as in the beginning, with three
   groups.
6. **Moves.** A page moved for the first time goes to the group of the mean life left to pages of its
   category that outlive their group, which may be a hotter one.

Where the paper leaves room: categories are tenths of the intervals, as in its prototype (in the paper each
ends at twice the interval of the one before); the chunks whose writes are counted have 512 pages, or `S` if
that is more; a block without an invalid page is no victim; the coldest group fills what blocks of groups that
are gone have left.
"""
