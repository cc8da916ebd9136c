"""The answers of a model (`Predictions`) and the reference values (`Labels`) for a batch of structures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.structures.frames import Float, Frames

Property = Literal["energy", "forces", "stress"]
Properties = tuple[Property, ...]
ALL_PROPERTIES: Properties = ("energy", "forces", "stress")


def property_shapes(frames: Frames) -> dict[Property, tuple[int, ...]]:
    """By property, the shape of the values of `frames`."""
    n, total = len(frames), len(frames.numbers)
    return {"energy": (n,), "forces": (total, 3), "stress": (n, 6)}


# No real answer in eV and Å is as large: a larger number counts as infinite.
LARGEST = 1e15


class Cause(IntEnum):
    """The causes for which an item has no number: a closed list that is counted, stored and shown."""

    NONE = 0
    ERROR = 1  # the calculator raised
    UNSUPPORTED = 2  # an element, a property or a domain that the model does not know
    NON_FINITE = 3
    WRONG_SHAPE = 4
    OUT_OF_MEMORY = 5
    NOT_CONVERGED = 6
    EXPLODED = 7
    OVER_TIME = 8  # not measured: never counts as unstable
    MISSING = 9  # never answered
    UNSTABLE = 10  # a crystal with imaginary phonons or a negative stiffness: a result of the model, and wrong
    INCONSISTENT = 11  # the consistency check got another answer
    NO_FORCES = 12  # dynamics in which no force acted: a result of the model, and wrong

    @property
    def word(self) -> str:
        return self.name.lower().replace("_", " ")


# Exploding or force-free dynamics and unstable crystals are results of a model, not missing answers.
RESULTS = (Cause.EXPLODED, Cause.UNSTABLE, Cause.NO_FORCES)


class FrameError(NamedTuple):
    """The error of one failed frame. `kind` and `text` are the submission's words: never public for a hidden task."""

    cause: Cause
    kind: str
    text: str


@dataclass(frozen=True, eq=False)
class Labels:
    """Reference values of n structures with N atoms; a missing value is an absent array or NaN, never zero.

    Args:
        energy: (n,) [eV].
        forces: (N, 3) [eV/Å].
        stress: (n, 6) [eV/Å³], Voigt order xx, yy, zz, yz, xz, xy, positive in tension, σ = (1/V) dE/dε.
    """

    energy: Float | None = None
    forces: Float | None = None
    stress: Float | None = None

    @property
    def arrays(self) -> dict[Property, Float]:
        """The arrays that are there, by property."""
        return {name: array for name in ALL_PROPERTIES if (array := getattr(self, name)) is not None}


@dataclass(frozen=True, eq=False)
class Predictions:
    """A model's answer for n structures with N atoms. Rows of failed frames are NaN.

    Args:
        energy: (n,) [eV].
        forces: (N, 3) [eV/Å], or None where not asked.
        stress: (n, 6) [eV/Å³] as in `Labels`, NaN for structures that are not periodic, or None where not asked.
        failure: (n,) int8 codes of `Cause`, 0 where the frame succeeded.
        errors: by frame, the submission's own words.
    """

    energy: Float
    forces: Float | None
    stress: Float | None
    failure: NDArray[np.int8]
    errors: Mapping[int, FrameError] = field(default_factory=dict)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """(n,) whether the frame has an answer."""
        return np.asarray(self.failure == 0)

    @property
    def properties(self) -> Properties:
        """The properties that were asked for."""
        return tuple(name for name in ALL_PROPERTIES if getattr(self, name) is not None)

    def arrays(self, wanted: Properties) -> dict[str, NDArray[Any]]:
        """The arrays by name: energy, failure, and of forces and stress what is `wanted` and was answered."""
        names = ["energy", "failure", *(name for name in self.properties if name in wanted and name != "energy")]
        return {name: getattr(self, name) for name in names}

    def between(self, start: int, stop: int, first_atom: int, last_atom: int) -> Predictions:
        """The answers to frames start … stop − 1, which have the atoms first_atom … last_atom − 1."""
        return Predictions(
            energy=self.energy[start:stop],
            forces=None if self.forces is None else self.forces[first_atom:last_atom],
            stress=None if self.stress is None else self.stress[start:stop],
            failure=self.failure[start:stop],
            errors={i - start: error for i, error in self.errors.items() if start <= i < stop},
        )

    @classmethod
    def unanswered(cls, frames: Frames, properties: Properties, cause: Cause) -> Predictions:
        """No answer to any of `frames`, for the same cause; with forces and stress if they are among `properties`."""
        nan = {name: np.full(shape, np.nan) for name, shape in property_shapes(frames).items()}
        return cls(
            energy=nan["energy"],
            forces=nan["forces"] if "forces" in properties else None,
            stress=nan["stress"] if "stress" in properties else None,
            failure=np.full(len(frames), cause, np.int8),
        )

    @classmethod
    def join(cls, parts: list[Predictions]) -> Predictions:
        """The answers to consecutive batches as one; a property absent from one part is absent from all."""
        if len(parts) == 1:
            return parts[0]
        errors: dict[int, FrameError] = {}
        start = 0
        for part in parts:
            errors.update({start + i: e for i, e in part.errors.items()})
            start += len(part.energy)
        forces = [p.forces for p in parts if p.forces is not None]
        stress = [p.stress for p in parts if p.stress is not None]
        return cls(
            energy=np.concatenate([p.energy for p in parts]),
            forces=np.concatenate(forces) if len(forces) == len(parts) else None,
            stress=np.concatenate(stress) if len(stress) == len(parts) else None,
            failure=np.concatenate([p.failure for p in parts]),
            errors=errors,
        )

    @classmethod
    def checked(
        cls,
        frames: Frames,
        energy: Float,
        forces: Float | None,
        stress: Float | None,
        errors: Mapping[int, FrameError],
    ) -> Predictions:
        """Predictions in which an answer that is not finite, or absurd, fails its frame, and failed rows are NaN.

        The arrays have the shapes of the class and may be read-only. A frame whose stress alone is missing (all
        NaN) keeps its energy and forces: a missing stress is no failure of the frame.
        """
        failure = np.zeros(len(frames), np.int8)
        if not errors and all(a is None or _is_sane(a) for a in (energy, forces, stress)):
            return cls(energy, forces, stress, failure)
        bad = ~(np.abs(energy) < LARGEST)
        if forces is not None:
            bad_atoms = ~(np.abs(forces) < LARGEST).all(axis=1)
            if bad_atoms.any():
                bad[frames.frame_index[bad_atoms]] = True
        if stress is not None:
            sane = np.abs(stress) < LARGEST
            bad |= ~sane.all(axis=1) & ~np.isnan(stress).all(axis=1)
        if not bad.any() and not errors:
            return cls(energy, forces, stress, failure)
        failure[bad] = Cause.NON_FINITE
        for index, error in errors.items():
            failure[index] = error.cause
        failed = failure != 0
        energy = np.where(failed, np.nan, energy)
        if forces is not None:
            forces = np.where(failed[frames.frame_index][:, None], np.nan, forces)
        if stress is not None:
            stress = np.where(failed[:, None], np.nan, stress)
        return cls(energy, forces, stress, failure, dict(errors))


def _is_sane(values: Float) -> bool:
    """Whether all values are finite and below `LARGEST`; NaN is not."""
    return bool(np.abs(values).max(initial=0.0) < LARGEST)
