"""Synthetic traces: requests drawn to match the published statistics of a trace that is not available.

Published tables give the numbers of requests, of bytes and of unique (different) bytes, separately for reads
and writes. The model makes few further assumptions, which each configuration lists under `assumed`:

- **Order.** Reads and writes follow each other in random order; their numbers match the table exactly.
- **Sizes.** Sizes are powers of two; their shares are as near to `size ** -size_decay` as the mean size
  allows. With an exponent of 2, about as many requests touch a single 4-KiB page as in the volumes src2_0,
  stg_0, ts_0 and mds_0 of the MSR Cambridge traces.
- **Places.** The volume is divided into extents. The extents that can be requested have `footprint_factor`
  times the unique bytes. The probability of an extent is a power law of its rank. Within an extent, all
  places aligned to the size of the request have the same probability. The exponent of the power law (the
  skew) is solved so that the unique bytes match. The fit does not use the known skew of the four volumes
  above (SmartGC's dataset statistics). A factor of 1.25 and extents of 256 KiB come nearest to this skew: the
  hottest 1 % of the pages get 60, 71, 62 and 61 % of the page writes (in the traces 63, 44, 56 and 62 %), and
  29, 28, 29 and 29 % of the written pages are written once (in the traces 26, 27, 46 and 29 %).
- **Layout.** One random permutation maps ranks to extents, so extents hot for writes are hot for reads, too.
- **Scans.** If even uniformly drawn places touch too few unique bytes, the exponent is 0, and a share of the
  requests reads or writes the volume sequentially from its start. This share is solved.
- **Arrivals.** Arrivals are a Poisson process with the mean rate of the table, independent of the requests.

In a configuration *with memory*, requests depend on earlier requests; the statistics still match the table:

- **Bursts.** Arrivals are a cascade (`arrivals`), whose bias is solved to match `dispersion_1s`.
- **Runs.** Reads and writes follow each other in runs of geometric length (`op_persistence`).
- **Replay.** A share of the requests (`replay_share`) repeats stretches of earlier requests, so that pages
  written together are overwritten together. The skew is solved from the unique bytes of all other requests.
  Repeats also make pages hot, so `footprint_factor` must be larger; 4 suits the skew of stg_0.
"""
