"""Tables of the SpeedupGC paper: best erase sets, block groups, hotness of pages."""
