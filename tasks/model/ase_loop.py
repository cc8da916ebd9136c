"""Runs an ASE calculator over a batch of structures given as flat arrays.

The same file serves the in-process calculator and the guest inside a container, so that both give the same numbers: it
imports the standard library, numpy and ASE only, nothing of this project, and keeps to Python 3.9.

Two rules of ASE matter here. `calculate` is called, not the `get_…` methods, since those answer from a cache. And ASE
does not see a change of `atoms.info`: where charge or multiplicity differ from the frame before, every calculator
reachable from the given one (a `SumCalculator` holds several) is reset, or a charged frame would get the neutral
one's energy.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from ase import Atoms
from ase.calculators.calculator import PropertyNotImplementedError, all_changes

# Codes of tasks.predictions.Cause, which this file must not import.
ERROR, UNSUPPORTED, WRONG_SHAPE, OUT_OF_MEMORY = 1, 2, 4, 5
MAX_TEXT_BYTES = 2048
MAX_DISTINCT_ERRORS = 16
WATCHED = 64  # structures, at the start: later ones cost no time


class Failure(NamedTuple):
    """Why a frame failed: a cause code, the class of the error and its text, both the submission's own words."""

    cause: int
    kind: str
    text: str


class BatchResult(NamedTuple):
    """Flat arrays of the answer; `status` (n,) is 0, or 1 + the index of the frame's failure in `failures`."""

    energy: Any
    forces: Any
    stress: Any
    status: Any
    failures: List[Failure]


class WrongShape(ValueError):
    """The calculator's array does not have the shape that the structure asks for."""


class AseLoop:
    """An ASE calculator, asked for whole batches.

    Args:
        calculator: an ASE calculator; one that offers `compute_batch(atoms, properties) -> list[dict | Exception]`
            is handed whole batches of at most `max_atoms_per_batch` atoms, halved on out-of-memory down to one frame.
    """

    def __init__(self, calculator: Any, max_atoms_per_batch: int = 0) -> None:
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
        self.max_atoms_per_batch = min(x for x in (own, max_atoms_per_batch, 1 << 40) if x > 0)
        known = getattr(calculator, "implemented_properties", None)
        self.properties = tuple(p for p in ("energy", "forces", "stress") if known is None or p in known)
        self.on_error: Callable[[BaseException], None] = _ignore
        self.changed = ""  # of the first structures, what the calculator changed: numbers, positions, cell or pbc
        self._watched = 0
        self._last: Optional[Tuple[Any, ...]] = None

    def compute(self, frames: Mapping[str, Any], wanted: Sequence[str]) -> BatchResult:
        """Energies (n,) [eV], forces (N, 3) [eV/Å] and stresses (n, 6) [eV/Å³] of `frames`; NaN where failed.

        Args:
            frames: arrays n_atoms, numbers, positions, cell, pbc, charge, multiplicity as in `Frames`.
            wanted: of energy, forces, stress. Stress is asked of fully periodic structures only.
        """
        n_atoms = frames["n_atoms"]
        n = len(n_atoms)
        total = len(frames["numbers"])
        energy = np.full(n, np.nan)
        forces = np.full((total, 3), np.nan) if "forces" in wanted else None
        stress = np.full((n, 6), np.nan) if "stress" in wanted else None
        out = BatchResult(energy, forces, stress, np.zeros(n, np.int64), [])
        ends = n_atoms.cumsum().tolist()
        starts = [0] + ends[:-1]
        spans = list(zip(starts, ends))
        periodic = [bool(frames["pbc"].all())] if n == 1 else frames["pbc"].all(axis=1).tolist()
        want_stress = stress is not None and "stress" in self.properties
        base = [p for p in ("energy", "forces") if p in wanted and p in self.properties]
        asks = [base + ["stress"] if want_stress and p else base for p in periodic]
        if self.batches:
            self._compute_in_batches(frames, spans, asks, out)
        else:
            self._compute_one_by_one(frames, spans, asks, out)
        return out

    def _compute_one_by_one(self, frames: Mapping[str, Any], spans: Any, asks: Any, out: BatchResult) -> None:
        for index, (start, stop) in enumerate(spans):
            try:
                atoms, key = make_atoms(frames, index, start, stop)
                changes = self._changes(key)
                self._last = None
                self.calculator.results = {}  # some leave what an earlier structure had, and this one has not
                self.calculator.calculate(atoms, asks[index], changes)
                self._watch(atoms, frames, index, start, stop)
                self._store(self.calculator.results, asks[index], index, start, stop, out)
                self._last = key
            except Exception as error:  # the submission's code may raise anything: that is this frame's answer
                self._fail(error, index, start, stop, out)

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

    def _changes(self, key: Tuple[Any, ...]) -> List[str]:
        """What differs from the frame before, in ASE's words; resets every cache where ASE would not see it."""
        last = self._last
        if last is None:
            reset_all(self.calculator)
            return list(all_changes)
        if key[3] != last[3]:
            reset_all(self.calculator)
            return list(all_changes)
        if key[0] != last[0]:
            return list(all_changes)
        changes = ["positions"]
        if key[1] != last[1]:
            changes.append("cell")
        if key[2] != last[2]:
            changes.append("pbc")
        return changes

    def _compute_in_batches(self, frames: Mapping[str, Any], spans: Any, asks: Any, out: BatchResult) -> None:
        pending = [list(group) for group in self._groups(spans, asks)]
        pending.reverse()
        while pending:
            group = pending.pop()
            structures = [make_atoms(frames, i, *spans[i])[0] for i in group]
            try:
                answers = self.calculator.compute_batch(structures, asks[group[0]])
                if len(answers) != len(group):
                    raise WrongShape("compute_batch answered %d of %d structures" % (len(answers), len(group)))
                for index, atoms in zip(group, structures):
                    self._watch(atoms, frames, index, *spans[index])
            except Exception as error:  # as above
                if len(group) > 1 and cause_of(error) == OUT_OF_MEMORY:
                    release_memory()
                    half = len(group) // 2
                    pending += [group[half:], group[:half]]
                    continue
                answers = [error] * len(group)
            for index, answer in zip(group, answers):
                start, stop = spans[index]
                try:
                    if isinstance(answer, BaseException):
                        raise answer
                    self._store(answer, asks[index], index, start, stop, out)
                except Exception as error:  # as above
                    self._fail(error, index, start, stop, out)

    def _groups(self, spans: Any, asks: Any) -> List[List[int]]:
        """Consecutive frames asked for the same properties, within the atom budget."""
        groups: List[List[int]] = []
        size = 0
        for index, (start, stop) in enumerate(spans):
            fits = size + stop - start <= self.max_atoms_per_batch
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
                stress = stress.flat[[0, 4, 8, 5, 2, 1]]
            if stress.shape != (6,):
                raise WrongShape("stress has shape %s, not (6,)" % (stress.shape,))
            out.stress[index] = stress

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


def make_atoms(frames: Mapping[str, Any], index: int, start: int, stop: int) -> Tuple[Atoms, Tuple[Any, ...]]:
    """Structure `index` as a new `Atoms`, and its identity: elements, cell, periodicity, (charge, multiplicity)."""
    numbers = frames["numbers"][start:stop]
    cell = frames["cell"][index]
    pbc = frames["pbc"][index]
    atoms = Atoms(numbers=numbers, positions=frames["positions"][start:stop], cell=cell, pbc=pbc)
    state = (int(frames["charge"][index]), int(frames["multiplicity"][index]))
    if state[0]:
        atoms.info["charge"] = state[0]
    if state[1]:
        atoms.info["spin"] = state[1]
    return atoms, (numbers.tobytes(), cell.tobytes(), pbc.tobytes(), state)


def reset_all(calculator: Any) -> None:
    """Empties the caches of `calculator` and of every calculator that it holds, however deep."""
    seen: Dict[int, Any] = {}
    queue = [calculator]
    while queue:
        thing = queue.pop()
        if id(thing) in seen or len(seen) > 1000:
            continue
        seen[id(thing)] = thing
        if isinstance(thing, (list, tuple, set, frozenset)):
            queue.extend(thing)
            continue
        if isinstance(thing, dict):
            queue.extend(thing.values())
            continue
        if callable(getattr(thing, "calculate", None)) or type(thing).__module__.startswith("ase.calculators"):
            if callable(getattr(thing, "reset", None)):
                thing.reset()
            elif isinstance(getattr(thing, "results", None), dict):
                thing.results = {}
            held = getattr(thing, "__dict__", {})
            queue.extend(v for k, v in held.items() if k not in ("results", "atoms") and _may_hold(v))


def _may_hold(value: Any) -> bool:
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return 0 < len(value) <= 64
    return callable(getattr(value, "calculate", None)) or type(value).__module__.startswith("ase.calculators")


def cause_of(error: BaseException) -> int:
    """The cause code of an exception of the submission."""
    if isinstance(error, WrongShape):
        return WRONG_SHAPE
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return OUT_OF_MEMORY
    if isinstance(error, RuntimeError) and "out of memory" in str(error).lower():
        return OUT_OF_MEMORY
    if isinstance(error, NotImplementedError):
        return UNSUPPORTED
    return ERROR


def describe(error: BaseException) -> Failure:
    """The failure of one frame, its text cut at 2 kB."""
    text = str(error).encode("utf-8", "replace")[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
    return Failure(cause_of(error), type(error).__name__[:128], text)


def release_memory() -> None:
    """Returns cached GPU memory to the driver where torch is loaded; a no-op elsewhere."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
