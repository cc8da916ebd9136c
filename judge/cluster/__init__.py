"""Dask starts workers on a cluster, and starts lost ones again. Claims in the store alone decide which unit is next."""
