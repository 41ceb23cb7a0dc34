"""What flash holds and does: the only writer of pages and of wear."""
