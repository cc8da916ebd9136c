"""Differences and scans of EMT, mis-scaled and negated, against EMT: each mistake is named, right ones are not."""

from __future__ import annotations

import numpy as np
import pytest
from ase.build import bulk, fcc111
from ase.calculators.emt import EMT

from tasks.datasets.card import Difference, Scan, Summand, Table
from tasks.importing.references.item_comparison import compare_items, compared_items, structures_of
from tasks.importing.references.reference_comparison import LabelComparison
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Float, Frames

METALS = ("Cu", "Ni", "Al", "Pd")
MADE = [atoms for x in METALS for atoms in (bulk(x, cubic=True), fcc111(x, (1, 1, 4), vacuum=6.0))]
STRAINED = []
for _x in METALS[:2]:
    for _strain in (0.96, 1.0, 1.04, 1.08):
        _atoms = bulk(_x, cubic=True)
        _atoms.set_cell(_atoms.cell * _strain, scale_atoms=True)
        STRAINED.append(_atoms)
FRAMES = Frames.from_atoms(MADE + STRAINED)
ENERGY: Float = np.asarray(InProcessCalculator(EMT()).compute(FRAMES, ("energy",)).energy)


def table(difference: float = 1.0, scan: float = 1.0, area: bool = False) -> Table:
    """Energies of four faces and of two scans, each `difference` or `scan` times as large as EMT has them."""
    faces = []
    for i, name in enumerate(METALS):
        cell = MADE[2 * i + 1].cell
        size = 2 * float(np.linalg.norm(np.cross(cell[0], cell[1]))) if area else None
        terms = (
            Summand(structure=2 * i + 1, coefficient=1.0),
            Summand(structure=2 * i, coefficient=-1.0),
        )
        value = (MADE_ENERGY[2 * i + 1] - MADE_ENERGY[2 * i]) / (size or 1.0)
        faces.append(Difference(id=name, area=size, terms=terms, reference={"EMT": float(difference * value)}))
    scans = []
    for i, name in enumerate(METALS[:2]):
        rows = range(8 + 4 * i, 12 + 4 * i)
        reference = tuple(float(scan * e) - 700.0 for e in MADE_ENERGY[rows.start : rows.stop])  # any zero
        size = 5.0 if area else None
        x = (0.96, 1.0, 1.04, 1.08)
        scans.append(Scan(id=name, structures=tuple(rows), x=x, area=size, reference={"EMT": reference}))
    ids = tuple(str(i) for i in range(len(FRAMES)))
    return Table(id=ids, group=ids, cluster=ids, differences=tuple(faces), scans=tuple(scans))


MADE_ENERGY = []
for _atoms in MADE + STRAINED:
    _atoms.calc = EMT()
    MADE_ENERGY.append(_atoms.get_potential_energy())


def compared(items: Table, energy: Float = ENERGY) -> list[LabelComparison]:
    return compare_items(items, "EMT", energy, FRAMES.n_atoms)


@pytest.mark.parametrize("area", [False, True])
def test_right_references_are_left_alone(area: bool) -> None:
    names = ["differences per area", "scans per area"] if area else ["differences", "scans"]
    comparisons = compared(table(area=area))
    assert [c.property for c in comparisons] == names
    for comparison, n in zip(comparisons, (4, 2), strict=True):
        assert comparison.correlation == pytest.approx(1.0)
        assert comparison.slope == pytest.approx(1.0, abs=1e-6)
        assert (comparison.n_frames, comparison.n_labelled, comparison.findings) == (n, n, ())


@pytest.mark.parametrize(
    ("factor", "area", "message"),
    [
        (27.211386, False, "eV taken for hartree (27.2114)"),
        (27211.386, False, "meV taken for hartree (27211.4)"),
        (23.0605, False, "kcal/mol taken for eV (23.0605)"),
        (4.184, False, "kJ/mol taken for kcal/mol (4.184)"),
        (1 / 4.184, False, "kcal/mol taken for kJ/mol (1/4.184)"),
        (16.0218, True, "J/m² taken for eV/Å² (16.0218)"),
        (0.001, True, "J/m² taken for mJ/m² (1/1000)"),
        (2.0, True, "the area of one surface taken for that of both (2)"),
    ],
)
def test_a_known_ratio_is_named(factor: float, area: bool, message: str) -> None:
    for wrong in (0, 1):
        comparisons = compared(table(*((factor, 1.0) if wrong == 0 else (1.0, factor)), area=area))
        (finding,) = comparisons[wrong].findings
        assert message in finding.partition(" times the model's: ")[2].split(", or ")
        assert comparisons[1 - wrong].findings == ()


def test_slope_is_that_of_numpy_and_a_turned_sign_is_named() -> None:
    noisy = ENERGY + np.random.default_rng(0).normal(0, 0.05, len(ENERGY))
    sums = [np.sum([t.coefficient * ENERGY[t.structure] for t in d.terms]) for d in table().differences]
    theirs = np.array([np.sum([t.coefficient * noisy[t.structure] for t in d.terms]) for d in table().differences])
    slope = np.linalg.lstsq(theirs[:, None], -np.array(sums), rcond=None)[0][0]
    comparison, scans = compared(table(-1.0, -1.0), noisy)
    assert comparison.slope == pytest.approx(slope)
    assert comparison.findings[0].startswith("negative correlation: their sign is the opposite of the model's")
    assert scans.findings[0].startswith("negative correlation: their sign is the opposite of the model's")


def test_items_whose_structures_fail_take_no_part() -> None:
    energy = ENERGY.copy()
    energy[[1, 9, 12, 13, 14, 15]] = np.nan  # a face of copper, one point of a scan, all of another
    faces, scans = compared(table(), energy)
    assert (faces.n_frames, faces.n_labelled, faces.findings) == (3, 4, ())
    assert (scans.n_frames, scans.n_labelled, scans.findings) == (1, 2, ())
    assert scans.slope == pytest.approx(1.0, abs=1e-6)
    faces, scans = compared(table(), np.full(len(ENERGY), np.nan))
    assert faces.findings == scans.findings == ("the model answered none of these items",)


def test_items_are_chosen_whole_and_sums_that_do_not_balance_are_left_out() -> None:
    part = compared_items(table(), FRAMES, 4, seed=0)
    assert len(part.differences) == 2
    assert len(part.scans) == 1
    assert len(structures_of(part)) == 8
    assert len(compared_items(table(), FRAMES, 1, seed=0).scans) == 1
    bare = Difference(id="Cu4", terms=(Summand(structure=0, coefficient=1.0),), reference={"EMT": 0.1})
    with_bare = table().model_copy(update={"differences": (*table().differences, bare)})
    assert [d.id for d in compared_items(with_bare, FRAMES, 100, seed=0).differences] == list(METALS)


def test_the_lowest_of_alternatives_takes_part() -> None:
    """Of cells of copper and nickel at three strains, the first one is not the lowest."""
    rows = []
    for first, name in ((8, "Cu"), (12, "Ni")):
        terms = (
            Summand(structure=first, coefficient=1.0, alternatives=(first + 1, first + 2)),
            Summand(structure=first + 3, coefficient=-1.0),
        )
        value = min(MADE_ENERGY[first : first + 3]) - MADE_ENERGY[first + 3]
        rows.append(Difference(id=name, terms=terms, reference={"EMT": float(value)}))
    items = table().model_copy(update={"differences": tuple(rows), "scans": ()})
    assert structures_of(items).tolist() == list(range(8, 16))
    assert len(compared_items(items, FRAMES, 4, seed=0).differences) == 1
    (comparison,) = compared(items)
    assert comparison.slope == pytest.approx(1.0, abs=1e-9)
    assert comparison.findings == ()
