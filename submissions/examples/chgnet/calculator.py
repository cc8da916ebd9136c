"""CHGNet 0.3.0, as a submission: a real pretrained interatomic potential, its weights inside its wheel.

CHGNet knows crystals only. A direction that is not periodic gets `VACUUM`, twice the reach of the model's graph, so
that no atom sees an image of another. The model computes in float32.
"""

import contextlib
import io
import os
import warnings
from typing import Any, ClassVar

import numpy as np
import torch
from ase import Atoms
from ase.calculators.calculator import Calculator, InputError, all_changes
from ase.geometry import complete_cell
from ase.units import GPa

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from chgnet.graph import CrystalGraphConverter
    from chgnet.graph.crystalgraph import CrystalGraph
    from chgnet.model import CHGNet
    from pymatgen.core import Lattice, Structure

# PyTorch remarks on a line inside chgnet, once a process.
warnings.filterwarnings("ignore", message="Converting a tensor with requires_grad")

VACUUM = 12.0  # Å; the graph reaches 6 Å
GRAPHS_AT_ONCE = 16
ATOMS_AT_ONCE = 500  # of a dense liquid they take about 1.5 GiB


class CHGNetInBoxes(Calculator):
    """The pretrained CHGNet for crystals, slabs and molecules, with a `compute_batch`."""

    implemented_properties: ClassVar[list[str]] = ["energy", "forces", "stress", "magmoms"]
    max_atoms_per_batch: ClassVar[int] = ATOMS_AT_ONCE  # the judge's guest hands over no more at a time

    def __init__(self, device: str) -> None:
        super().__init__()
        with contextlib.redirect_stdout(io.StringIO()):  # it greets
            model = CHGNet.load(use_device=device, verbose=False)
        self.model = model.eval()
        for parameter in self.model.parameters():
            parameter.requires_grad_(False)  # only derivatives by positions and strain are wanted
        old = self.model.graph_converter
        self.model.graph_converter = CrystalGraphConverter(
            atom_graph_cutoff=old.atom_graph_cutoff,
            bond_graph_cutoff=old.bond_graph_cutoff,
            algorithm="fast",
            on_isolated_atoms="ignore",  # see _graph
        )

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: list[str] | None = None,
        system_changes: list[str] = all_changes,
    ) -> None:
        super().calculate(atoms, properties, system_changes)
        self.results = self._evaluate([self.atoms], properties or ["energy", "forces"])[0]

    def compute_batch(self, atoms: list[Atoms], properties: list[str]) -> list[dict[str, Any] | Exception]:
        """One result a structure, in order; a structure that fails takes no other with it."""
        results: list[dict[str, Any] | Exception] = []
        for start in range(0, len(atoms), GRAPHS_AT_ONCE):
            part = atoms[start : start + GRAPHS_AT_ONCE]
            try:
                results.extend(self._evaluate(part, properties))
            except torch.cuda.OutOfMemoryError:
                raise  # the judge's guest halves the batch
            except Exception:  # noqa: BLE001 - whatever one structure does, the others are answered
                results.extend(self._alone(one, properties) for one in part)
        return results

    def _alone(self, atoms: Atoms, properties: list[str]) -> dict[str, Any] | Exception:
        try:
            return self._evaluate([atoms], properties)[0]
        except torch.cuda.OutOfMemoryError:
            raise
        except Exception as error:  # noqa: BLE001
            return error

    def _evaluate(self, batch: list[Atoms], properties: list[str]) -> list[dict[str, Any]]:
        task = "ef"
        if "stress" in properties and any(atoms.pbc.all() for atoms in batch):
            task = "efs"
        if "magmoms" in properties:
            task = "efsm"
        graphs = [self._graph(atoms) for atoms in batch]
        answers = self.model.predict_graph(graphs, task=task, batch_size=GRAPHS_AT_ONCE)
        if len(batch) == 1:
            answers = [answers]
        return [_result(atoms, answer) for atoms, answer in zip(batch, answers, strict=True)]

    def _graph(self, atoms: Atoms) -> CrystalGraph:
        """The model's graph of the boxed structure.

        An atom without a neighbour keeps its own energy. Without a single edge there is no graph to run the model
        on, and no value that CHGNet was trained to give.
        """
        structure = Structure(Lattice(box(atoms)), atoms.numbers, _inside(atoms), coords_are_cartesian=True)
        graph = self.model.graph_converter(structure)
        if len(graph.atom_graph) == 0:
            raise InputError("CHGNet needs two atoms within 6 Å of each other: an isolated atom has no graph")
        return graph


def box(atoms: Atoms) -> np.ndarray:
    """The cell (3, 3) [Å] with vacuum in place of each direction that is not periodic."""
    cell = complete_cell(np.where(atoms.pbc[:, None], atoms.cell.array, 0.0))
    for axis in np.flatnonzero(~atoms.pbc):
        # In whole Å, so that small motions do not change the box.
        cell[axis] *= np.ceil(np.ptp(atoms.positions @ cell[axis]) + VACUUM)
    return cell


def _inside(atoms: Atoms) -> np.ndarray:
    """Positions (n, 3) [Å] near the origin, where float32 is finest."""
    if atoms.pbc.any():
        return atoms.positions
    return atoms.positions - atoms.positions.min(axis=0)


def _result(atoms: Atoms, answer: dict[str, np.ndarray]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "energy": float(answer["e"]) * len(atoms),  # the model answers per atom
        "forces": answer["f"].astype(float),
    }
    if "s" in answer and atoms.pbc.all():
        stress = answer["s"].astype(float) * GPa
        result["stress"] = stress[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]]
    if "m" in answer:
        result["magmoms"] = answer["m"].astype(float)
    return result


def make_calculator(device: str = "cpu", domain: str | None = None) -> CHGNetInBoxes:
    """The pretrained CHGNet on `device`. It has one head, whatever the domain."""
    # os.cpu_count() would count the host's processors, not the ones this container may use.
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    return CHGNetInBoxes(device)
