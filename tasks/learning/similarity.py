"""How similar stretches of a trajectory are to the frames that models are asked about, by SOAP.

SOAP is the smooth overlap of atomic positions (A. P. Bartók, R. Kondor, G. Csányi, Phys. Rev. B 87, 184115 (2013)),
here by dscribe with its spherical Gaussian-type orbitals. The vector of a frame is the mean over its atoms of their
power spectra (`average="outer"`); so it does not change if the frame is rotated. The similarity of two sets of frames
is the mean cosine over all pairs. SAIBench states none of these settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

import numpy as np
from ase.data import chemical_symbols

from tasks.structures.frames import Float, Frames, Int

R_CUT = 5.0  # Å
N_MAX, L_MAX = 8, 6
SIGMA = 0.5  # Å
MAX_FRAMES = 200  # of a set, at even distances, so that it takes seconds


def require_dscribe() -> None:
    """Returns if dscribe is installed.

    Raises:
        ValueError: it is not; the line names the extra.
    """
    try:
        import dscribe  # noqa: F401
    except ModuleNotFoundError:
        install = "pip install 'lambench-judge[learning]'"
        raise ValueError(f"the similarity of windows needs dscribe, which is not installed: {install}") from None


def similarity_settings() -> str:
    """The settings in one line."""
    settings = f"r_cut {R_CUT:g} Å, n_max {N_MAX}, l_max {L_MAX}, σ {SIGMA:g} Å, mean over atoms"
    return f"SOAP by dscribe {version('dscribe')}: {settings}; at most {MAX_FRAMES} frames of each"


def soap_vectors(frames: Frames) -> Float:
    """(n, d) the vector of each frame, of length 1.

    Raises:
        ValueError: dscribe is not installed.
    """
    require_dscribe()
    from dscribe.descriptors import SOAP

    species = [chemical_symbols[z] for z in np.unique(frames.numbers).tolist()]
    periodic = bool(frames.pbc.any())
    soap = SOAP(species=species, r_cut=R_CUT, n_max=N_MAX, l_max=L_MAX, sigma=SIGMA, average="outer", periodic=periodic)
    vectors = np.atleast_2d(soap.create([frames.atoms(index) for index in range(len(frames))]))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def thinned(indices: Int) -> Int:
    """At most `MAX_FRAMES` of `indices`, at even distances."""
    n = min(len(indices), MAX_FRAMES)
    return indices[(np.arange(n) * len(indices)) // n]


def mean_similarity(first: Float, second: Float) -> float:
    """The mean cosine over all pairs of vectors (n, d) and (m, d) of length 1."""
    return float(first.mean(axis=0) @ second.mean(axis=0))


def similarities(frames: Frames, sets: Mapping[str, Int], asked: Int) -> dict[str, float]:
    """By name, the similarity of a set of `frames` to those that are asked about; each set is thinned.

    Raises:
        ValueError: dscribe is not installed.
    """
    chosen = {"": thinned(asked), **{name: thinned(indices) for name, indices in sets.items()}}
    vectors = soap_vectors(frames.take(np.concatenate(list(chosen.values()))))
    ends = np.cumsum([len(indices) for indices in chosen.values()])
    split = dict(zip(chosen, np.split(vectors, ends[:-1]), strict=True))
    return {name: mean_similarity(split[name], split[""]) for name in sets}
