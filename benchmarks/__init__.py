"""Benchmarks of the judge: `make bench` runs all of them, prints a table, and writes `var/bench.json`."""
