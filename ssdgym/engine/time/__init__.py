"""Event-driven time: events, flash commands, requests under way, latencies."""
