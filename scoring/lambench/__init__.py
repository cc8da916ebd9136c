"""LAMBench's scores (arXiv:2504.19578), by release: each release has its facts, and all share the code."""
