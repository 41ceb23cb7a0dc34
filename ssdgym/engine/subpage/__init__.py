"""The sub-page family: FTLs whose host unit is a part of a flash page (cgm, fgm, sector_log, subftl)."""
