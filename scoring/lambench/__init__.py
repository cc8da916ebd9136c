"""LAMBench's scores (arXiv:2504.19578), by release: the facts differ, the code is one."""
