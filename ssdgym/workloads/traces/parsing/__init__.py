"""What trace formats are read with: lines, fields, operations, and records made of them."""
