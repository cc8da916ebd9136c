"""Checks of the references of a data set: beyond all bounds, and against a model."""
