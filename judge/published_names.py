"""What LAMBench's published tables call the metrics that are measured here."""

from __future__ import annotations

from collections.abc import Mapping

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
_OF_ONE_TYPE = "ø_"  # share of the barriers of one type of reaction that are off


def metric_of(kind: str, column: str) -> str:
    """The metric of a task kind that a published column holds; the column itself where none is known."""
    if kind == "energy_differences" and column.startswith(_OF_ONE_TYPE):
        return f"barrier_off_percent:{column.removeprefix(_OF_ONE_TYPE).lower()}"
    return _BY_KIND.get(kind, {}).get(column, column)
