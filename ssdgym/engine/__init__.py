"""The engine: a device and its FTL as arrays, advanced by kernels that numba compiles.

An import may only point down this map, and each array is assigned in the room that owns it (tests hold both):

* `entries`, `verbs`: advance, observe, apply, for one device or a batch; what families do in their own ways.
* `page`: the page-mapping family: its arrays, host pages, GC rounds, the two loops, its audit. Owns
  `logical`, `promised`, `round_pairs`, and the fields of `plane` that say which round runs in it.
* `erase`: the ERASE decision: which sets are legal, candidates, features, helpers of victim rules.
* `blocks`: the books of the blocks: index, pool, open blocks. Owns `block`, `plane`, `bucket`,
  `open_sub_block`.
* `decisions`: kinds of decisions, who takes them, rules called by address, hooks.
* `time`: events, flash commands, requests under way, latencies. Owns `die`, `channel`, `event`, `ready`,
  `transaction`, `slot`, `latency`, `histogram`, `tail`.
* `speedupgc`: tables of the SpeedupGC paper: best erase sets, block groups, hotness. Owns `best`, `tree`,
  `group_size`, `heap`, `group_bits`, `hotness`.
* `flash`: what pages hold, wear, physical addresses, durations: the only writer of pages. Owns `physical`,
  `sub_block`.
* `core`: numba, records, status codes, lists, bits, random numbers, families.

Arguments that kernels share:

* `dev`: one device of a batch, a NamedTuple of its arrays and of who takes its decisions (`dev.decider`).
* `view`: the part of a device that rules, or the tables of SpeedupGC, work on.
* `params`: the device's constants (PARAMS); `control`: where it is and what it waits for (CONTROL);
  `dev.counters[0]`: what it has counted (COUNTERS).
* `plane`, `block`, `sub`: numbers through the whole device of a plane, a block, a sub-block (`s` is the
  number of a sub-block within its block, a bit of a mask).
* `lpn`: number of a logical page; `ppn`: of a physical one; `version`: of the data of a logical page.
* `stream`: number of a write stream; each plane has an open block for each that is used.
* `die_number`, `transaction` (a page of a request under way), `slot` (a request under way).
* `rules`, `external`: who takes which decisions (`ssdgym.engine.decisions`).
"""
