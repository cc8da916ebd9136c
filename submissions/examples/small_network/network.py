"""One small network for each element: an atom's energy from the descriptor of its environment."""

from __future__ import annotations

from pathlib import Path

import torch
from environments import Described, Environments
from torch import nn

MODEL = "model.pt"
HIDDEN = 96


class AtomicNetworks(nn.Module):
    """The energies of atoms, by the element: a network of two hidden layers, times a unit that is 0 before training.

    Args:
        n_species: number S of elements.
        n_columns: of the descriptor.
    """

    def __init__(self, n_species: int, n_columns: int) -> None:
        super().__init__()
        self.register_buffer("atomic", torch.zeros(n_species, dtype=torch.float64))  # eV
        self.register_buffer("scale", torch.ones(n_species, n_columns))
        self.register_buffer("unit", torch.zeros(()))  # eV
        self.networks = nn.ModuleList(
            nn.Sequential(
                nn.Linear(n_columns, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, 1)
            )
            for _ in range(n_species)
        )

    def forward(self, species: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Energies (N,) [eV] of atoms with descriptors (N, D), without their means."""
        energies = values.new_zeros(len(values))
        for index, network in enumerate(self.networks):
            mine = torch.nonzero(species == index).flatten()
            energies = energies.index_add(0, mine, network(values[mine] * self.scale[index]).flatten() * self.unit)
        return energies


def energies_and_forces(
    networks: AtomicNetworks,
    species: torch.Tensor,
    values: torch.Tensor,
    centre: torch.Tensor,
    neighbour: torch.Tensor,
    slopes: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Energies (N,) [eV] of atoms and forces (N, 3) [eV/Å] on them; arguments as in `Described`."""
    values = values.requires_grad_(True)
    energies = networks(species, values)
    (gradient,) = torch.autograd.grad(energies.sum(), values, create_graph=networks.training)
    push = torch.bmm(gradient[centre][:, None], slopes)[:, 0]
    forces = slopes.new_zeros(len(values), 3)
    return energies, forces.index_add(0, centre, push).index_add(0, neighbour, push, alpha=-1)


def tensors(described: Described, device: str) -> tuple[torch.Tensor, ...]:
    """The arrays of `described` for `energies_and_forces`."""
    species, values, centre, neighbour, slopes = (torch.as_tensor(array, device=device) for array in described)
    return species, values.float(), centre, neighbour, slopes


def load(path: Path, device: str) -> tuple[Environments, AtomicNetworks]:
    """The descriptor and the networks that `torch.save` wrote as tensors by name. Nothing else is unpickled."""
    saved = torch.load(path, map_location=device, weights_only=True)
    environments = Environments.from_arrays({key: array.cpu().numpy() for key, array in saved["environments"].items()})
    networks = AtomicNetworks(len(environments.elements), environments.components.shape[2]).to(device)
    networks.load_state_dict(saved["networks"])
    return environments, networks.eval()
