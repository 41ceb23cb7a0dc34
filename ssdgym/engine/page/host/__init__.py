"""What becomes of a page of the host: held, placed, programmed, together with others."""
