"""Synthetic traces: requests drawn so that they have the published statistics of a trace that cannot be had.

Of the reads and of the writes, tables give the requests, the bytes and the unique bytes. The model adds
as little as it can, and every configuration names what of it is assumed:

- **Order.** Reads and writes follow each other at random; their numbers come out exactly.
- **Sizes.** Powers of two, in the shares nearest to `size ** -size_decay` that have the mean of the
  table. With an exponent of 2, about as many requests touch a single 4-KiB page as in the volumes src2_0,
  stg_0, ts_0 and mds_0 of the MSR Cambridge traces.
- **Places.** The volume is cut into extents. The extent of rank k is requested by a bounded power law, over
  `footprint_factor` times the unique bytes; within the extent, every place aligned to the request's size
  is as likely. The law's exponent, the skew, is **solved** so that the unique bytes come out. A factor of
  1.25 and extents of 256 KiB come nearest, by absolute differences, to what is known of the skew of those
  four volumes (SmartGC's dataset statistics), which the fit does not use: the hottest 1 % of the pages get
  60, 71, 62 and 61 % of the page writes (in the traces 63, 44, 56 and 62 %), and 29, 28, 29 and 29 % of the
  written pages are written once (26, 27, 46 and 29 %).
- **Layout.** One permutation from rank to extent, so that what is hot to write is hot to read.
- **Scans.** Where even uniform places touch too few bytes, the exponent is 0, and a share of the requests,
  solved, goes once through the volume from its start, one after the other.
- **Arrivals.** A Poisson process with the mean of the table. Requests do not depend on each other.

What of memory a configuration has takes the place of this independence; the columns of the table still
come out:

- **Bursts.** Arrivals of a cascade, whose bias is **solved** for the index of dispersion at 1 s (`cascade`).
- **Runs.** Reads, and writes, follow each other in runs of geometric length (`order`).
- **Replay.** A share of the requests repeats stretches of earlier ones, so that what is written together is
  overwritten together (`replay`). The skew is **solved** for the unique bytes of the others. Copying makes
  pages hot as well, so that `footprint_factor` has to be larger: with 4, stg_0 comes near to its skew.
"""
