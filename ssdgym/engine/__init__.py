"""The engine: a device and its FTL as arrays, advanced by kernels that numba compiles.

An import may only point down this map, and each array, or field of its records, is assigned in the room that
owns it. Tests hold both.

* `stepping`: the step of many devices: apply, advance, observe, reward, shared out to threads.
* `block`: the family of FTLs that map blocks, or bundles of them, and merge them: where pages go, jobs, the
  plans of partial erases. Owns `merging`, `logical`, `in_flight`, `bundle`,
  `member`, `frontier`, `job`, `job_plan`, `figure`, `case`, `node`, `draft`, `tally` and `bundle_bucket`.
* `subpage`: the family of FTLs that map parts of a page: write buffer, regions of small writes, GC rounds.
  Owns `logical`, `in_flight`, `updated`, `page_valid`, `page_use`, `stored_h`,
  `subpage`, `tally`, `buffer`, `entry`, `entry_of`, `evicting`, `region`, `member`, `region_block`,
  `carried`, `transaction.group`, `transaction.request`, `transaction.parent`, `transaction.waits`,
  `transaction.plane`, `transaction.number`, `transaction.mask`, `transaction.pages`, `transaction.kind`,
  `transaction.partial`, `transaction.evicts`, `plane.collecting` and `plane.round_*`.
* `page`: the page-mapping family: its arrays, host pages, GC rounds.
  Owns `logical`, `in_flight`, `plane.collecting`, `plane.levelling`, `plane.round_*` and `die.idle*`.
* `rounds`: how GC rounds of all families begin, and which planes have none any more. Owns `round_pairs`,
  `plane.collecting` and `plane.round_*`.
* `entries`: the entry points for one device: make, advance, apply; and functions of a family for
  them.
* `loop`: the two loops, without time and in time, and the operations of a family that they call.
* `allocation`: the die and the plane of a page of the host. Owns `die.plane_cursor`.
* `erase`: the ERASE decision: which sets are legal, best sets, candidates, features, helpers of victim rules.
* `blocks`: records of the blocks: index, pool, open blocks. Owns `block`, `plane`, `bucket`,
  `open_sub_block`, `stream`.
* `observation`: the observed values of a batch, and the arrays for them.
* `decisions`: kinds of decisions, who takes them, rules called by address, hooks.
* `view`: the arrays that rules of all families can read.
* `time`: events, flash commands, requests under way, latencies. Owns `die`, `channel`, `event`, `ready`,
  `transaction`, `slot`, `latency`, `histogram`, `gc_histogram`, `tail`.
* `cells`: when a block and a device are at their end. Owns `life` and
  `endurance`.
* `operations`: the stubs of what each family carries out in its own way, in the order of a write.
* `flash`: what pages hold, wear, physical addresses, durations: the only writer of pages. Owns `physical`,
  `sub_block`, `disturbed`.
* `core`: numba's decorators, records, status codes, lists, bits, random numbers, families.
* `compiler`: what is added to numba: a cache, the linking of entries, checked rules, reasons.

`control` and `counters` belong to all rooms, `params` to the simulator, and the memory of rules to the rules.

Arguments that kernels share:

* `dev`: one device of a batch: a pointer to its arrays and to who takes its decisions (`dev.decider`).
* `view`: the part of a device that rules work on.
* `params`: the device's constants (PARAMS); `control`: where it is and what it waits for (CONTROL);
  `dev.counters[0]`: what it has counted (COUNTERS).
* `plane`, `block`, `sub`: numbers through the whole device of a plane, a block, a sub-block (`s` is the
  number of a sub-block within its block, a bit of a mask).
* `lpn`: number of a logical page; `ppn`: of a physical one; `version`: of the data of a logical page.
* `target`: where a page goes, a stream or a sub-block of the pool (`ssdgym.engine.decisions`).
* `stream`: number of a write stream; each plane has an open block for each that is used (`dev.stream`: their
  books).
* `die_number`, `transaction` (a page of a request under way), `slot` (a request under way).
* `rules`, `external`: who takes which decisions (`ssdgym.engine.decisions`).
"""
