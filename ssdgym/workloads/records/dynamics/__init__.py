"""What records show over time: bursts of arrivals, runs of one operation, and how long writes live."""
