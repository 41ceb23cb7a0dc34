"""DOGI: a placement that learns how long pages live, its victims, and what is computed between two steps."""
