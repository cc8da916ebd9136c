"""A submission: `make_calculator` returns an ASE calculator. Put your own in place of EMT."""

from ase.calculators.emt import EMT


def make_calculator(device="cpu", domain=None):
    """The calculator for a domain.

    The judge gives those of the keywords device, domain, label_set and model_dir that are named here. `device` is "cpu"
    or "cuda"; `domain` is "Inorganic Materials", "Molecules" or "Catalysis", and an
    unknown domain must not raise.
    """
    return EMT()
