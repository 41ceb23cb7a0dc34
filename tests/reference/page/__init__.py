"""What only the page family of the reference has: its FTL, idle times, victim policies, hotness tables."""
