"""Parsing of trace files: lines, fields, operations, and records made of them."""
