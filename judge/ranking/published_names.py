"""The metrics of task kinds by their names in LAMBench's published tables, and the units of those tables."""

from __future__ import annotations

from collections.abc import Mapping

from scoring import ScoringError

_BY_KIND: Mapping[str, Mapping[str, str]] = {
    "energy_differences": {
        "MAE": "mae",
        "RMSE": "rmse",
        "MAE_Ea": "barrier_mae",
        "MAE_dE": "reaction_energy_mae",
    },
    "energy_profiles": {
        "MAE": "profile_mae",
        "MAEB": "barrier_mae",
        "NABH_h": "n_barriers_off",
        "MAE_E": "energy_mae",
        "MAE_dE": "slope_mae",
    },
    "elasticity": {"MAE_K_VRH": "k_vrh_gpa_mae", "MAE_G_VRH": "g_vrh_gpa_mae"},
    "phonons": {
        "mae_max_freq": "max_frequency_k_mae",
        "mae_entropy": "entropy_j_per_mol_k_mae",
        "mae_free_energy": "free_energy_kj_per_mol_mae",
        "mae_heat_capacity": "heat_capacity_j_per_mol_k_mae",
    },
    "compression": {"MAE": "volume_per_atom_mae"},
}
# By published task of energy differences, whose unit a suite chooses. Source: deepmodeling/LAMBench,
# lambench/tasks/calculator: neb.py at commit 06aced9, wiggle150.py 20e4588, vacancy.py 1d7aa8c, binding.py 2a2e505,
# barrier.py 1e5e843, interface.py and surface.py 05a089b.
_UNITS: Mapping[str, str] = {
    "neb": "eV",
    "wiggle150": "kcal/mol",
    "vacancy": "eV",
    "binding_energy": "kcal/mol",
    "rxn_barrier": "kcal/mol",
    "interface": "mJ/m²",
    "surface": "meV/Å²",
}
_SHARE = "%"
_TYPE_PREFIX = "ø_"  # of columns with the share of one reaction type's barriers that are off


def metric_of(kind: str, column: str) -> str:
    """The metric of a task kind that a published column holds; the column itself if no metric is known."""
    if kind == "energy_differences" and column.startswith(_TYPE_PREFIX):
        return f"barrier_off_percent:{column.removeprefix(_TYPE_PREFIX).lower()}"
    return _BY_KIND.get(kind, {}).get(column, column)


def check_unit(task: str, release_name: str, metric: str, unit: str) -> None:
    """Returns if an error in `unit` can be divided by the published baseline of the task `release_name`.

    Raises:
        ScoringError: the baseline is in another unit.
    """
    published = _UNITS.get(release_name)
    if published is not None and unit not in (published, _SHARE):
        raise ScoringError(
            f"task {task}: {metric}: unit {unit!r}, but the published baseline of {release_name} is in {published}: "
            f'state parameters = {{ unit = "{published}" }} in the suite'
        )
