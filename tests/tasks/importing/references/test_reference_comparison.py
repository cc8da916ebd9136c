"""Labels of EMT, mis-scaled and negated, against EMT: the mistake is named, and correct labels give no finding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones

from submissions.preflight.factors import force_mistakes, looks_like, stress_mistakes
from tasks.importing.references.reference_comparison import LabelComparison, compare, unit_mistake
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Frames
from tasks.structures.known_mistakes import ASE_UNITS, STRESS_ORDERS, Order, both_ways, order_words
from tasks.structures.predictions import ALL_PROPERTIES, Cause, Labels, Predictions, Property


def alloys(n: int = 12) -> Frames:
    """Cells of copper and gold of two compositions, strained and rattled."""
    rng, made = np.random.default_rng(0), []
    for i in range(n):
        atoms = bulk("Cu", cubic=True)
        atoms.numbers[0] = (29, 79)[i % 2]
        atoms.set_cell(atoms.cell.array @ (np.eye(3) + rng.normal(0, 0.03, (3, 3))), scale_atoms=True)
        atoms.positions += rng.normal(0, 0.1, (4, 3))
        made.append(atoms)
    return Frames.from_atoms(made)


FRAMES = alloys()
ANSWER = InProcessCalculator(EMT()).compute(FRAMES, ALL_PROPERTIES)
LABELS = Labels(ANSWER.energy, ANSWER.forces, ANSWER.stress)


def noisy(seed: int = 1, size: float = 0.3) -> Predictions:
    """A model of usual quality: its errors are `size` times the spread of the labels."""
    rng = np.random.default_rng(seed)
    assert ANSWER.forces is not None
    assert ANSWER.stress is not None
    return replace(
        ANSWER,
        energy=ANSWER.energy + rng.normal(0, size * ANSWER.energy.std() / 4, len(FRAMES)),
        forces=ANSWER.forces + rng.normal(0, size * ANSWER.forces.std(), ANSWER.forces.shape),
        stress=ANSWER.stress + rng.normal(0, size * ANSWER.stress.std(), ANSWER.stress.shape),
    )


def times(**factors: float) -> Labels:
    return replace(LABELS, **{name: getattr(LABELS, name) * factor for name, factor in factors.items()})


def named(labels: Labels, predictions: Predictions = ANSWER) -> dict[Property, LabelComparison]:
    return {c.property: c for c in compare(labels, predictions, FRAMES)}


def test_right_labels_are_left_alone() -> None:
    for comparison in compare(LABELS, ANSWER, FRAMES):
        assert comparison.correlation == pytest.approx(1.0)
        assert comparison.slope == pytest.approx(1.0)
        assert comparison.findings == ()
        assert comparison.n_frames == comparison.n_labelled == 12
    assert [c.findings for c in compare(LABELS, noisy(), FRAMES)] == [()] * 3


def test_slope_and_correlation_are_those_of_numpy() -> None:
    model = noisy()
    comparisons = named(times(forces=3.0), model)
    assert LABELS.forces is not None
    assert model.forces is not None
    labels, predicted = 3.0 * LABELS.forces.ravel(), model.forces.ravel()
    slope = np.linalg.lstsq(predicted[:, None], labels, rcond=None)[0][0]
    assert comparisons["forces"].slope == pytest.approx(slope)
    cosine = labels @ predicted / np.linalg.norm(labels) / np.linalg.norm(predicted)
    assert comparisons["forces"].correlation == pytest.approx(cosine)
    assert comparisons["stress"].slope == pytest.approx(named(LABELS, model)["stress"].slope)


def test_energies_are_compared_beyond_their_zeros() -> None:
    """Another zero for each element changes nothing: the constants are fitted."""
    gold = np.add.reduceat(FRAMES.numbers == 79, FRAMES.offsets[:-1])
    assert LABELS.energy is not None
    other = replace(LABELS, energy=LABELS.energy - 45_000.0 * (4 - gold) - 500_000.0 * gold)
    comparisons = named(other)["energy"]
    assert comparisons.slope == pytest.approx(1.0, abs=1e-6)
    assert comparisons.findings == ()


@pytest.mark.parametrize(
    ("name", "factor", "message"),
    [
        ("energy", 1 / 27.2114, "hartree taken for eV (1/27.2114)"),
        ("energy", 27.2114, "eV taken for hartree (27.2114)"),
        ("energy", 23.0605, "kcal/mol taken for eV (23.0605)"),
        ("energy", 96.4853, "kJ/mol taken for eV (96.4853)"),
        ("energy", 1000.0, "meV taken for eV (1000)"),
        ("forces", 1 / 51.4221, "hartree/bohr taken for eV/Å (1/51.4221)"),
        ("forces", 51.4221, "eV/Å taken for hartree/bohr (51.4221)"),
        ("forces", 0.529177, "eV/bohr taken for eV/Å (1/1.88973)"),
        ("forces", 23.0605, "kcal/mol/Å taken for eV/Å (23.0605)"),
        ("stress", 160.2177, "GPa taken for eV/Å³ (160.218)"),
        ("stress", 1 / 160.2177, "eV/Å³ taken for GPa (1/160.218)"),
        ("stress", 1602.177, "kbar taken for eV/Å³ (1602.18)"),
        ("stress", 0.1, "GPa taken for kbar (1/10)"),
        ("stress", 10.0, "kbar taken for GPa (10)"),
    ],
)
@pytest.mark.parametrize("model", [ANSWER, noisy()], ids=["exact", "noisy"])
def test_a_known_ratio_is_named_first(name: Property, factor: float, message: str, model: Predictions) -> None:
    comparisons = named(times(**{name: factor}), model)
    (finding,) = comparisons[name].findings
    assert finding.startswith("labels are ")
    assert finding.partition(" times the model's: ")[2].split(", or ")[0] == message
    assert all(not c.findings for other, c in comparisons.items() if other != name)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("energy", "a sign in the file"),
        ("forces", "gradients taken for forces, or a sign in the file"),
        # If data were imported with a minus in --units, the minus must be removed.
        ("stress", "import again with the other sign of stress in --units"),
    ],
)
def test_a_turned_sign_is_named(name: Property, remedy: str) -> None:
    comparisons = named(times(**{name: -1.0}), noisy())
    (finding,) = comparisons[name].findings
    assert finding == f"negative correlation: their sign is the opposite of the model's: {remedy}"
    assert comparisons[name].slope < 0
    assert all(not c.findings for other, c in comparisons.items() if other != name)


def test_a_sign_and_a_unit_are_both_named() -> None:
    first, second = named(times(stress=-1602.177))["stress"].findings
    assert first.startswith("negative correlation")
    assert "kbar taken for eV/Å³" in second


def test_shuffled_labels_and_a_ratio_that_no_unit_explains_are_named() -> None:
    assert LABELS.forces is not None
    shuffled = replace(LABELS, forces=LABELS.forces[np.random.default_rng(0).permutation(len(LABELS.forces))])
    (finding,) = named(shuffled)["forces"].findings
    assert "nothing in common: another order of atoms" in finding
    (finding,) = named(times(energy=4.0))["energy"].findings
    assert finding.startswith("labels are 4 times the model's, which no unit explains; the nearest is ")


def test_models_may_differ_by_a_fifth_and_more() -> None:
    for ratio in (0.75, 0.82, 1.0, 1.2, 1.4):
        assert unit_mistake("forces", ratio) is None
    for ratio in (0.5, 1.9, 60.0):
        assert unit_mistake("forces", ratio) is not None


def test_what_cannot_be_compared_is_said() -> None:
    failed = replace(ANSWER, energy=np.full(12, np.nan), failure=np.full(12, Cause.ERROR, np.int8))
    assert named(LABELS, failed)["energy"].findings == ("the model answered none of these frames",)
    no_stress = named(LABELS, replace(ANSWER, stress=None))["stress"]
    assert (no_stress.n_frames, no_stress.n_labelled, no_stress.findings) == (0, 12, ())
    assert np.isnan(no_stress.correlation)
    single = FRAMES.take([0])
    (comparisons,) = compare(Labels(energy=LABELS.energy[:1]), replace(ANSWER, energy=ANSWER.energy[:1]), single)  # type: ignore[index]
    assert "zero everywhere beyond what the composition explains: take more frames" in comparisons.findings[0]


def test_missing_labels_and_failed_frames_take_no_part() -> None:
    assert LABELS.forces is not None
    energy, forces = ANSWER.energy.copy(), LABELS.forces.copy()
    energy[3] = np.nan
    forces[FRAMES.atom_slice(5)] = np.nan
    comparisons = named(replace(LABELS, forces=forces), replace(ANSWER, energy=energy))
    assert (comparisons["energy"].n_frames, comparisons["energy"].n_labelled) == (11, 12)
    assert (comparisons["forces"].n_frames, comparisons["forces"].n_labelled) == (11, 11)
    assert [c.findings for c in comparisons.values()] == [()] * 3


def test_a_model_of_another_world_names_nothing_that_is_a_unit() -> None:
    """Lennard-Jones argon as the model of copper must give some finding."""
    other = InProcessCalculator(LennardJones(sigma=3.4, epsilon=0.0104, rc=8.0)).compute(FRAMES, ALL_PROPERTIES)
    assert any(c.findings for c in compare(LABELS, other, FRAMES))


# Sizes and orders


def of_sizes(*cells: int) -> Frames:
    """Frames of alloys of 4 times so many atoms."""
    rng, made = np.random.default_rng(4), []
    for i, n in enumerate(cells):
        atoms = FRAMES.atoms(i % len(FRAMES)).repeat((n, 1, 1))
        atoms.positions += rng.normal(0, 0.05, atoms.positions.shape)
        made.append(atoms)
    return Frames.from_atoms(made)


MIXED_SIZES = of_sizes(1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3)
MIXED_ANSWER = InProcessCalculator(EMT()).compute(MIXED_SIZES, ALL_PROPERTIES)
ZEROS = -45_000.0 * np.add.reduceat(MIXED_SIZES.numbers == 29, MIXED_SIZES.offsets[:-1])  # of electrons
PER_ATOM = "energies per atom taken for totals"


def energy_findings(energy: np.ndarray, frames: Frames, answer: Predictions) -> tuple[str, ...]:
    (comparison,) = compare(Labels(energy=energy), replace(answer, forces=None, stress=None), frames)
    return comparison.findings


def with_noise(answer: Predictions, seed: int) -> Predictions:
    """A model whose energies per atom are off by a tenth of their spread."""
    rng = np.random.default_rng(seed)
    return replace(answer, energy=answer.energy + rng.normal(0, 0.02, len(answer.energy)) * MIXED_SIZES.n_atoms)


@pytest.mark.parametrize("model", [ANSWER, noisy()], ids=["exact", "noisy"])
def test_energies_per_atom_of_frames_of_one_size_are_a_known_ratio(model: Predictions) -> None:
    (finding,) = named(times(energy=0.25), model)["energy"].findings
    assert finding.partition(" times the model's: ")[2].split(", or ")[0].startswith(f"{PER_ATOM} (1/")
    assert named(times(energy=0.25))["energy"].findings == (f"labels are 0.25 times the model's: {PER_ATOM} (1/4)",)


def test_energies_per_atom_in_another_unit_name_both() -> None:
    (finding,) = named(times(energy=23.0605 / 4))["energy"].findings
    assert "energies per atom in kcal/mol taken for totals in eV (5.765" in finding


@pytest.mark.parametrize("zeros", [0.0, ZEROS], ids=["", "zeros of electrons"])
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_energies_per_atom_of_frames_of_several_sizes_are_named(zeros: float | np.ndarray, seed: int | None) -> None:
    model = MIXED_ANSWER if seed is None else with_noise(MIXED_ANSWER, seed)
    energy = MIXED_ANSWER.energy + zeros
    assert energy_findings(energy, MIXED_SIZES, model) == ()
    (finding,) = energy_findings(energy / MIXED_SIZES.n_atoms, MIXED_SIZES, model)
    assert finding.startswith(f"labels are {PER_ATOM}: correlation ")
    first, second = energy_findings(energy / MIXED_SIZES.n_atoms / 27.2114, MIXED_SIZES, model)
    assert first.startswith(f"labels are {PER_ATOM}")
    assert ": hartree taken for eV" in second


def test_energies_per_atom_and_hartree_are_both_named_where_both_explain_the_ratio() -> None:
    """Frames of 28 atoms, and hartree: both explain the ratio, and the nearest is named first."""
    frames = of_sizes(7, 7, 7, 7, 7, 7)
    answer = InProcessCalculator(EMT()).compute(frames, ("energy",))
    (finding,) = energy_findings(answer.energy / 28.0, frames, answer)
    assert f": {PER_ATOM} (1/28), or hartree taken for eV (1/27.2114)" in finding
    (finding,) = energy_findings(answer.energy / 27.2114, frames, answer)
    assert f": hartree taken for eV (1/27.2114), or {PER_ATOM} (1/28)" in finding


@pytest.mark.parametrize("order", STRESS_ORDERS[1:])
@pytest.mark.parametrize("factor", [1.0, -1602.177])
def test_an_order_of_components_is_named(order: Order, factor: float) -> None:
    assert LABELS.stress is not None
    labels = replace(LABELS, stress=factor * LABELS.stress[:, list(order)])
    for model in (ANSWER, noisy(2, 0.2)):
        first, *others = named(labels, model)["stress"].findings
        assert first == f"their components come in {order_words(order)}"
        assert [("negative" in line, "kbar taken for eV/Å³" in line) for line in others] == (
            [] if factor == 1.0 else [(True, False), (False, True)]
        )


@pytest.mark.parametrize("seed", range(20))
def test_a_right_order_is_left_alone(seed: int) -> None:
    for size in (0.3, 1.0):
        findings = named(LABELS, noisy(seed, size))["stress"].findings
        assert not any("components" in finding for finding in findings)


def test_components_that_are_rounding_have_no_order() -> None:
    assert LABELS.stress is not None
    rounding = LABELS.stress * ([1.0] * 3 + [1e-9] * 3)
    shuffled = rounding[:, [0, 1, 2, 5, 3, 4]]
    assert named(replace(LABELS, stress=shuffled), replace(ANSWER, stress=rounding))["stress"].findings == ()


def test_virials_are_named() -> None:
    assert MIXED_ANSWER.stress is not None
    virials = Labels(stress=MIXED_ANSWER.stress * MIXED_SIZES.volumes[:, None])
    (comparison,) = compare(virials, MIXED_ANSWER, MIXED_SIZES)
    assert "virials, not divided by the volume, taken for stress" in comparison.findings[0]
    (comparison,) = compare(replace(virials, stress=-virials.stress), MIXED_ANSWER, MIXED_SIZES)  # type: ignore[operator]
    assert any("virials" in finding for finding in comparison.findings)
    assert any(finding.startswith("negative correlation") for finding in comparison.findings)


@pytest.mark.parametrize("quantity", ["forces", "stress"])
def test_the_preflight_of_a_model_names_the_same_units(quantity: Property) -> None:
    expected = np.array([0.3, -1.0, 0.7, 0.2, 0.5, -0.4])
    mistakes = {"forces": force_mistakes(4), "stress": stress_mistakes(4, 40.0)}[quantity]
    in_units_of_ase = [mistake for mistake in both_ways(quantity) if mistake.right in ASE_UNITS]
    assert len(in_units_of_ase) >= 5
    for mistake in in_units_of_ase:
        assert looks_like(mistake.factor * expected, expected, mistakes) == mistake.wrong
        assert mistake.words() in (unit_mistake(quantity, mistake.factor) or "")
