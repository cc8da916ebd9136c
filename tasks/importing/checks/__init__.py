"""Checks of imported data sets: whether tasks can be built from them, copies, and the order of atoms."""
