"""The judge's small program inside an author's container: standard library, numpy and ASE, Python 3.9 or later.

`sandbox.guest_archive` packs these files into one archive that is mounted read-only and run by the image's own Python.
"""
