"""The sub-page family: FTLs whose logical page is a part of a flash page (cgm, fgm, sector_log, subftl)."""
