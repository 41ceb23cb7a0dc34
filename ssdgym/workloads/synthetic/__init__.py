"""Synthetic traces: requests drawn to match the published statistics of a trace that is not available.

Published tables give requests, bytes and unique bytes of the reads and of the writes. The model adds as few
assumptions as possible, and every configuration names them:

- **Order.** Reads and writes follow each other in random order; their numbers match exactly.
- **Sizes.** Sizes are powers of two; their shares are as near to `size ** -size_decay` as the mean size
  allows. With an exponent of 2, about as many requests touch a single 4-KiB page as in the volumes src2_0,
  stg_0, ts_0 and mds_0 of the MSR Cambridge traces.
- **Places.** The volume is divided into extents. Extents are requested by a bounded power law over their
  ranks, over `footprint_factor` times the unique bytes. Within an extent, all places aligned to the size of
  the request have the same probability. The exponent of the law (the skew) is **solved** to match the unique
  bytes. A factor of 1.25 and extents of 256 KiB come nearest, by absolute differences, to the known skew of
  the four volumes above (SmartGC's dataset statistics), which the fit does not use: the hottest 1 % of the
  pages get 60, 71, 62 and 61 % of the page writes (in the traces 63, 44, 56 and 62 %), and 29, 28, 29 and
  29 % of the written pages are written once (in the traces 26, 27, 46 and 29 %).
- **Layout.** A single permutation maps ranks to extents, so extents hot for writes are also hot for reads.
- **Scans.** If even uniform places touch too few bytes, the exponent is 0, and a share of the requests, which
  is **solved**, goes sequentially through the volume from its start.
- **Arrivals.** Arrivals are a Poisson process with the mean rate of the table, independent of the requests.

A configuration with memory replaces parts of this independence; the statistics of the table still match:

- **Bursts.** Arrivals are a cascade; its bias is **solved** for the index of dispersion at 1 s (`cascade`).
- **Runs.** Reads and writes follow each other in runs of geometric length (`order`).
- **Replay.** A share of the requests repeats stretches of earlier requests, so that pages written together
  are overwritten together (`replay`). The skew is **solved** for the unique bytes of the other requests.
  Repeats also make pages hot, so `footprint_factor` has to be larger: with 4, stg_0 comes near to its skew.
"""
