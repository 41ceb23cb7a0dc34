"""The page-mapping FTL family."""
