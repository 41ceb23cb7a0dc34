"""The engine: a device and its FTL as arrays, advanced by kernels that numba compiles.

The engine consists of *rooms*, modules or folders, listed here from top to bottom. A room imports only from
itself and from rooms below it, and only the room that owns an array, or a field of its records, assigns it.

* `stepping`: one step of many devices, divided among threads: apply actions, advance, observe, reward.
* `block`: the family of FTLs that map logical blocks, or bundles of them: placement of pages, merge jobs,
  plans of partial erases. Owns `merging`, `logical`, `in_flight`, `bundle`,
  `member`, `frontier`, `job`, `job_plan`, `figure`, `case`, `node`, `draft`, `tally` and `bundle_bucket`.
* `subpage`: the family of FTLs that map parts of a page: write buffer, regions of small writes, GC rounds.
  Owns `logical`, `in_flight`, `updated`, `page_valid`, `page_use`, `stored_h`,
  `subpage`, `tally`, `buffer`, `entry`, `entry_of`, `evicting`, `region`, `member`, `region_block`,
  `carried`, `transaction.group`, `transaction.request`, `transaction.parent`, `transaction.waits`,
  `transaction.plane`, `transaction.number`, `transaction.mask`, `transaction.pages`, `transaction.kind`,
  `transaction.partial`, `transaction.evicts`, `plane.collecting` and `plane.round_*`.
* `page`: the family of FTLs that map pages: its arrays, host pages, GC rounds.
  Owns `logical`, `in_flight`, `plane.collecting`, `plane.levelling`, `plane.round_*` and `die.idle*`.
* `rounds`: how GC rounds begin (page and sub-page families), and which planes take no more pages since they
  have lost too many blocks. Owns `round_pairs`, `plane.collecting` and `plane.round_*`.
* `entries`: the functions that Python calls for one device (create, advance, apply a decision), and
  `add_family`.
* `loop`: the untimed and the event-driven loop, and default versions of the operations that they call.
* `allocation`: the choice of die and plane for a page of the host. Owns `die.plane_cursor`.
* `erase`: the ERASE decision: legal erase sets, best sets, candidates, features, helpers of victim rules.
* `blocks`: records of the blocks: index, pool, open blocks. Owns `block`, `plane`, `bucket`,
  `open_sub_block`, `stream`.
* `observation`: what an observation contains, and the arrays that a step of many devices reads and writes.
* `decisions`: kinds of decisions, who takes them, calls of rules by address, hooks.
* `view`: the arrays that rules of all families can read.
* `time`: events, flash commands, requests under way, latencies. Owns `die`, `channel`, `event`, `ready`,
  `transaction`, `slot`, `latency`, `histogram`, `gc_histogram`, `tail`.
* `cells`: when blocks wear out and the life of a device ends. Owns `life` and `endurance`.
* `operations`: stubs of the functions that each family defines for itself, in the order of a write.
* `flash`: contents of pages, wear, physical addresses, durations of commands. Owns `physical`,
  `sub_block`, `disturbed`.
* `core`: numba's decorators, records, status codes, lists, bits, random numbers, families.
* `compiler`: extensions of numba: a cache, the linking of entries, checked rules, readable error messages.

All rooms assign `control` and `counters`; the simulator assigns `params`; rules assign their own memory.

Arguments that kernels share:

* `dev`: pointer to one device of a batch: its arrays, and its rules in `dev.decider`.
* `view`: the arrays of a device that rules read.
* `params`: constants of the device (PARAMS); `control`: its clock, its progress in the input, the decision
  that is due (CONTROL); `dev.counters[0]`: its counters (COUNTERS).
* `plane`, `block`, `sub`: number of a plane, block or sub-block, counted over the whole device; `s`: number
  of a sub-block within its block, and its bit in a mask.
* `lpn`, `ppn`: number of a logical page, of a physical page; `version`: number of a logical page's version.
* `target`: where a page is programmed: a stream, or a sub-block of a block in the pool.
* `stream`: number of a write stream; a plane has at most one open block for each stream.
* `die_number`: number of a die; `transaction`, `slot`: index of a page transaction, and of a request under
  way, in `dev.transaction` and `dev.slot`.
* `rules`: rule of each kind of decision; `external`: bit set of the kinds that are decided outside.
"""
