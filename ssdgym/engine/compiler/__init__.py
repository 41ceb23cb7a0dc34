"""Extensions of numba: a cache, the linking of entries, checked rules, readable error messages."""
