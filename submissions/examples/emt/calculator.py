"""ASE's effective medium theory, as a submission: the smallest calculator that is real.

EMT knows Al, Ni, Cu, Pd, Ag, Pt and Au (and roughly H, C, N, O on them); other elements raise, which the judge
counts as unsupported frames.
"""

from ase.calculators.emt import EMT


def make_calculator(device: str = "cpu", domain: str | None = None) -> EMT:
    """An EMT calculator. It has one set of parameters and runs on the CPU, whatever is asked."""
    return EMT()
