"""The quickstart data set of simulated systems: metals at room temperature, with measured densities and distances."""

from __future__ import annotations

from typing import NamedTuple

from ase.build import bulk

from tasks.datasets.dataset import Dataset
from tasks.datasets.pair_analyses import FirstPeakAnalysis
from tasks.datasets.simulated_systems import DensityAnalysis, SimulatedSystem
from tasks.quickstart.dataset import Named, dataset_of, stated_card

MEASURED = "experiment"


class MeasuredMetal(NamedTuple):
    """An fcc metal at room temperature and atmospheric pressure.

    Args:
        density: [g/cm³].
        nearest: distance of nearest neighbours [Å].
    """

    symbol: str
    density: float
    nearest: float


METALS = (MeasuredMetal("Cu", 8.93, 2.56), MeasuredMetal("Al", 2.70, 2.86))


def build_metals() -> Dataset:
    """Two metals of 32 atoms each, for dynamics at constant pressure."""
    structures, systems = [], []
    for index, metal in enumerate(METALS):
        structures.append(Named(metal.symbol, "fcc", bulk(metal.symbol, cubic=True).repeat(2)))
        atoms = tuple(range(len(structures[-1].atoms)))
        density = DensityAnalysis(measure="density", reference={MEASURED: metal.density})
        nearest = FirstPeakAnalysis(
            measure="first_peak", first=atoms, up_to=3.3, bin_width=0.02, reference={MEASURED: metal.nearest}
        )
        system = SimulatedSystem(id=metal.symbol, group="fcc", structure=index, analyses=(density, nearest))
        systems.append(system)
    return dataset_of(stated_card("simulated-metals"), structures, systems=systems)
