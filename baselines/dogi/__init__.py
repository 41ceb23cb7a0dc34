"""DOGI: a placement that learns how long pages live, and its victims; docs/policies.md defines both."""
