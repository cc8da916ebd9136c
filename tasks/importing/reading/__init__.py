"""Reads frames: extended XYZ in blocks, all other formats by ASE; and measures distances in them."""
