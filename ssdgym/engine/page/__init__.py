"""The page-mapping FTL family: arrays, host pages, GC rounds, wear."""
