"""Stub: replaced by the dataset room."""
