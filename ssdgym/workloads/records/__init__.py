"""Records: requests by byte and volume, as traces have them, and their conversion to logical pages."""
