"""Runs an ASE calculator over a batch of structures given as flat arrays.

The same files serve the in-process calculator and the guest inside a container, so that both give the same numbers:
this one and those that it imports from its own folder use the standard library, numpy and ASE only, nothing else of
this project, and keep to Python 3.9.

Two rules of ASE matter here. `calculate` is called, not the `get_…` methods, since those answer from a cache. And ASE
does not see a change of `atoms.info`: where charge or spin differ from the frame before, every calculator reachable
from the given one (a `SumCalculator` holds several) is reset, or a charged frame would get the neutral one's energy.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

import numpy as np
from ase import Atoms
from ase.calculators.calculator import PropertyNotImplementedError, all_changes

from .batch_limits import NO_LIMIT, BatchLimits, halves
from .calculator_caches import reset_all
from .call_costs import CallCosts, release_memory
from .failures import AUTHORS_ERRORS, ERROR, OUT_OF_MEMORY, Failure, WrongShape, cause_of, describe
from .further_outputs import asked_names, count_members, empty_outputs, offered_outputs, store_outputs
from .states import Identity, make_atoms

MAX_DISTINCT_ERRORS = 16
WATCHED = 64  # structures, at the start: later ones cost no time
OWN = ("energy", "forces", "stress")


class BatchResult(NamedTuple):
    """Flat arrays of the answer; `status` (n,) is 0, or 1 + the index of the frame's failure in `failures`.

    `further` has the arrays of the further outputs by name; `costs` is None unless they were asked for.
    """

    energy: Any
    forces: Any
    stress: Any
    status: Any
    failures: List[Failure]
    further: Dict[str, Any]
    costs: Optional[CallCosts]


class AseLoop:
    """An ASE calculator, asked for whole batches.

    Args:
        calculator: an ASE calculator; one that offers `compute_batch(atoms, properties) -> list[dict | Exception]`
            is handed whole batches of at most `max_atoms_per_batch` atoms, halved on out-of-memory down to one frame.
            Later batches are smaller than one that did not fit.
        domain: that it is asked in, which decides the spin of structures that state none; see `states`.
    """

    def __init__(self, calculator: Any, max_atoms_per_batch: int = 0, domain: str = "") -> None:
        if isinstance(calculator, type):
            name = calculator.__name__
            raise TypeError("the factory returned the class %s, no calculator: return %s()" % (name, name))
        if calculator is None:
            raise TypeError("the factory returned None, no calculator: it has no `return`")
        if not callable(getattr(calculator, "calculate", None)):
            raise TypeError(
                "the factory must return an ASE calculator; a %s has no calculate()" % type(calculator).__name__
            )
        self.calculator = calculator
        self.batches = callable(getattr(calculator, "compute_batch", None))
        own = int(getattr(calculator, "max_atoms_per_batch", 0) or 0)
        self.max_atoms_per_batch = min(x for x in (own, max_atoms_per_batch, NO_LIMIT) if x > 0)
        known = getattr(calculator, "implemented_properties", None)
        self.properties = tuple(p for p in OWN if known is None or p in known)
        self.members = count_members(calculator)
        self.offered = {} if known is None else offered_outputs(known, self.members)
        self.errors = AUTHORS_ERRORS
        self.on_error: Callable[[BaseException], None] = _ignore
        self.changed = ""  # of the first structures, what the calculator changed: numbers, positions, cell or pbc
        self.stress_asymmetry = 0.0  # the largest |s_ij − s_ji| of a stress given as a matrix [eV/Å³]
        self._domain = domain
        self._watched = 0
        self._last: Optional[Identity] = None
        self._too_large = NO_LIMIT  # atoms: a batch of so many ran out of memory

    def compute(
        self, frames: Mapping[str, Any], wanted: Sequence[str], further: Sequence[str] = (), costs: bool = False
    ) -> BatchResult:
        """Energies (n,) [eV], forces (N, 3) [eV/Å] and stresses (n, 6) [eV/Å³] of `frames`; NaN where failed.

        Args:
            frames: arrays as in `states.make_atoms`.
            wanted: of energy, forces, stress. Stress is asked of fully periodic structures only.
            further: names of further outputs, see `further_outputs`.
            costs: also note what each call cost.
        """
        n_atoms = frames["n_atoms"]
        n = len(n_atoms)
        total = len(frames["numbers"])
        energy = np.full(n, np.nan)
        forces = np.full((total, 3), np.nan) if "forces" in wanted else None
        stress = np.full((n, 6), np.nan) if "stress" in wanted else None
        outputs = empty_outputs(further, n, total, self.members) if further else {}
        noted = CallCosts(n) if costs else None
        out = BatchResult(energy, forces, stress, np.zeros(n, np.int64), [], outputs, noted)
        ends = n_atoms.cumsum().tolist()
        starts = [0] + ends[:-1]
        spans = list(zip(starts, ends))
        periodic = [bool(frames["pbc"].all())] if n == 1 else frames["pbc"].all(axis=1).tolist()
        want_stress = stress is not None and "stress" in self.properties
        base = [p for p in ("energy", "forces") if p in wanted and p in self.properties]
        asks = [base + ["stress"] if want_stress and p else base for p in periodic]
        if outputs:
            more = {p: asked_names(outputs, self.offered, p) for p in (False, True)}
            asks = [ask + more[p] for ask, p in zip(asks, periodic)]
        if self.batches:
            self._compute_in_batches(frames, spans, asks, periodic, out)
        else:
            self._compute_one_by_one(frames, spans, asks, periodic, out)
        return out

    def _compute_one_by_one(
        self, frames: Mapping[str, Any], spans: Any, asks: Any, periodic: Any, out: BatchResult
    ) -> None:
        costs, domain, errors = out.costs, self._domain, self.errors
        for index, (start, stop) in enumerate(spans):
            if costs is not None:
                costs.begin()
            try:
                atoms, key = make_atoms(frames, index, start, stop, domain)
                changes = self._changes(key)
                self._last = None
                self.calculator.results = {}  # some leave what an earlier structure had, and this one has not
                if out.further:
                    self._calculate_further(atoms, asks[index], changes)
                else:
                    self.calculator.calculate(atoms, asks[index], changes)
                self._watch(atoms, frames, index, start, stop)
                self._store(self.calculator.results, asks[index], index, start, stop, out)
                if out.further:
                    store_outputs(self.calculator.results, out.further, index, start, stop, periodic[index])
                self._last = key
            except errors as error:  # the submission's code may raise anything: that is this frame's answer
                self._fail(error, index, start, stop, out)
            if costs is not None:
                costs.end([index], stop - start)

    def _calculate_further(self, atoms: Atoms, ask: List[str], changes: List[str]) -> None:
        """One structure, with further outputs; without them if the calculator raises."""
        try:
            self.calculator.calculate(atoms, ask, changes)
        except Exception:  # a dipole may be what it cannot compute
            own = [name for name in ask if name in OWN]
            if own == ask:
                raise
            reset_all(self.calculator)
            self.calculator.results = {}
            self.calculator.calculate(atoms, own, list(all_changes))

    def _watch(self, atoms: Atoms, frames: Mapping[str, Any], index: int, start: int, stop: int) -> None:
        if self._watched >= WATCHED:
            return
        self._watched += 1
        for name in ("numbers", "positions"):
            if not np.array_equal(getattr(atoms, name), frames[name][start:stop]):
                self.changed = name
        for name in ("cell", "pbc"):
            if not np.array_equal(getattr(atoms, name), frames[name][index]):
                self.changed = name

    def _changes(self, key: Identity) -> List[str]:
        """What differs from the frame before, in ASE's words; resets every cache where ASE would not see it."""
        last = self._last
        if last is None:
            reset_all(self.calculator)
            return list(all_changes)
        if key.state != last.state:
            reset_all(self.calculator)
            return list(all_changes)
        if key.numbers != last.numbers:
            return list(all_changes)
        changes = ["positions"]
        if key.cell != last.cell:
            changes.append("cell")
        if key.pbc != last.pbc:
            changes.append("pbc")
        if key.moments != last.moments:
            changes.append("initial_magmoms")
        return changes

    def _compute_in_batches(
        self, frames: Mapping[str, Any], spans: Any, asks: Any, periodic: Any, out: BatchResult
    ) -> None:
        costs, errors = out.costs, self.errors
        pending = self._groups(spans, asks)
        pending.reverse()
        limits = BatchLimits(self._too_large)
        while pending:
            group = pending.pop()
            size = sum(spans[i][1] - spans[i][0] for i in group)
            if len(group) > 1 and size >= limits.too_large:
                pending += halves(group, spans)
                continue
            structures = [make_atoms(frames, i, spans[i][0], spans[i][1], self._domain)[0] for i in group]
            if costs is not None:
                costs.begin()
            try:
                answers = self._ask_batch(structures, asks[group[0]], bool(out.further))
                for index, atoms in zip(group, structures):
                    self._watch(atoms, frames, index, *spans[index])
            except errors as error:  # as above
                no_memory = cause_of(error) == OUT_OF_MEMORY
                if no_memory:
                    release_memory()
                    limits.ran_out(group, size)
                if len(group) > 1 and (no_memory or not isinstance(error, Exception)):
                    pending += halves(group, spans)
                    if costs is not None and no_memory:
                        costs.split(group)
                    continue
                answers = [error] * len(group)
            for index, answer in zip(group, answers):
                start, stop = spans[index]
                if isinstance(answer, BaseException):
                    self._fail(answer, index, start, stop, out)
                    continue
                try:
                    self._store(answer, asks[index], index, start, stop, out)
                    if out.further:
                        store_outputs(answer, out.further, index, start, stop, periodic[index])
                except errors as error:  # as above
                    self._fail(error, index, start, stop, out)
            if costs is not None:
                costs.end(group, size)
        self._too_large = limits.too_large

    def _ask_batch(self, structures: List[Atoms], ask: List[str], further: bool) -> List[Any]:
        """The answers to one call, as many as structures; without further outputs if the calculator raises."""
        try:
            answers = self.calculator.compute_batch(structures, ask)
        except Exception as error:
            own = [name for name in ask if name in OWN]
            if not further or own == ask or cause_of(error) == OUT_OF_MEMORY:
                raise
            answers = self.calculator.compute_batch(structures, own)
        if len(answers) != len(structures):
            raise WrongShape("compute_batch answered %d of %d structures" % (len(answers), len(structures)))
        return list(answers)

    def _groups(self, spans: Any, asks: Any) -> List[List[int]]:
        """Consecutive frames asked for the same properties, within the atom budget."""
        most = min(self.max_atoms_per_batch, max(1, self._too_large // 2))
        groups: List[List[int]] = []
        size = 0
        for index, (start, stop) in enumerate(spans):
            fits = size + stop - start <= most
            if groups and fits and asks[groups[-1][0]] == asks[index]:
                groups[-1].append(index)
                size += stop - start
            else:
                groups.append([index])
                size = stop - start
        return groups

    def _store(self, answer: Mapping[str, Any], ask: Any, index: int, start: int, stop: int, out: BatchResult) -> None:
        energy = _take(answer, "energy")
        shape = tuple(np.shape(energy))
        if shape:
            raise WrongShape("energy has shape %s, not ()" % (shape,))
        out.energy[index] = float(energy)
        if out.forces is not None and "forces" in ask:
            forces = np.asarray(_take(answer, "forces"), np.float64)
            if forces.shape != (stop - start, 3):
                raise WrongShape("forces have shape %s, not %s" % (forces.shape, (stop - start, 3)))
            out.forces[start:stop] = forces
        if "stress" in ask:
            stress = np.asarray(_take(answer, "stress"), np.float64)
            if stress.shape == (3, 3):
                stress = self._symmetric(stress)
            if stress.shape != (6,):
                raise WrongShape("stress has shape %s, not (6,)" % (stress.shape,))
            out.stress[index] = stress

    def _symmetric(self, stress: Any) -> Any:
        """A stress (3, 3) in Voigt order, each shear as the average of two elements; notes how far these differ."""
        difference = float(np.abs(stress - stress.T).max())
        if self.stress_asymmetry < difference < np.inf:
            self.stress_asymmetry = difference
        return (0.5 * (stress + stress.T)).flat[[0, 4, 8, 5, 2, 1]]

    def _fail(self, error: BaseException, index: int, start: int, stop: int, out: BatchResult) -> None:
        out.energy[index] = np.nan
        if out.forces is not None:
            out.forces[start:stop] = np.nan
        if out.stress is not None:
            out.stress[index] = np.nan
        failure = describe(error)
        if failure not in out.failures:
            if failure.cause == ERROR:
                self.on_error(error)
            if len(out.failures) == MAX_DISTINCT_ERRORS:
                failure = next((f for f in out.failures if f.cause == failure.cause), out.failures[-1])
            else:
                out.failures.append(failure)
        out.status[index] = 1 + out.failures.index(failure)


def _ignore(error: BaseException) -> None:
    """Prints nothing of an error."""


def _take(answer: Mapping[str, Any], name: str) -> Any:
    try:
        return answer[name]
    except KeyError:
        raise PropertyNotImplementedError("the calculator gave no %s" % name) from None
