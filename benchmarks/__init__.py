"""Measured, not assumed: `make bench` runs all of it, shows a table, and writes `var/bench.json`."""
