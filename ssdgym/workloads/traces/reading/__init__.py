"""How trace files become records: containers, columns, lines."""
