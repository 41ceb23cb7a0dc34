"""The page-mapping FTL family: arrays, host pages, GC rounds, the two loops, the audit."""
