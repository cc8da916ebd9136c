"""Two hundred invented models: cards, teams with several versions, invitations, and the quality of each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal, NamedTuple

import numpy as np

from benchmarks.board_tasks import CRYSTALS, ELEMENTS, LABEL_SETS, MOLECULES, SURFACES, generator
from submissions.records import (
    Arrival,
    Check,
    Domain,
    ImageRecord,
    ModelCard,
    PreflightReport,
    StatedLabelSet,
    Submission,
    Timing,
    TrainingSet,
    submission_id,
)

BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
STEMS = ("Aster", "Birch", "Cedar", "Dahlia", "Elder", "Fern", "Gorse", "Hazel", "Iris", "Juniper", "Larch", "Maple")
SIZES = ("S", "M", "L", "XL")
HOSTILE = (
    '<script>alert("model")</script> & <b>bold</b>',
    "\u202eנמוך 模型 ⚛️🧪 \u200f",
    "Long " + "name of a model " * 12,
)
CPU_HOSTS = 0.5  # of all models


class ModelOutcome(NamedTuple):
    """The outcome of judging a model.

    Args:
        word: `ranked`, `molecules` (it knows only these), `spoilt` (verdicts other than OK), `partial` (some tasks
            were not judged), `empty` (nothing judged), `failed` (every task), `single` (one task only).
    """

    word: Literal["ranked", "molecules", "spoilt", "partial", "empty", "failed", "single"]


class Model(NamedTuple):
    """A submission, and the properties that its answers follow from.

    Args:
        quality: the typical error relative to the trivial model's.
        speed: [µs/atom].
        drift: [eV/atom/ps].
        on_gpu: which of the two hardware classes it was timed on.
        log: what its container printed in the preflight.
    """

    number: int
    submission: Submission
    outcome: ModelOutcome
    quality: float
    speed: float
    drift: float
    on_gpu: bool
    log: str


def make_model(number: int, n_models: int) -> Model:
    """Model `number` of `n_models`."""
    rng = generator("model", number)
    team = int(rng.integers(0, max(1, n_models // 6)))
    stem, version = STEMS[team % len(STEMS)], 1 + int(rng.integers(0, 5))
    name = f"{stem}{'' if team < len(STEMS) else f' {team // len(STEMS) + 1}'}-{rng.choice(SIZES)} {number}"
    if n_models >= 20 and 3 <= number < 3 + len(HOSTILE):
        name = HOSTILE[number - 3][:200]
    outcome = _outcome(number, n_models, rng)
    image = f"sha256:{sha256(f'image {number}'.encode()).hexdigest()}"
    quality = float(np.exp(rng.uniform(np.log(0.03), np.log(0.7))))
    speed = float(np.exp(rng.uniform(np.log(5), np.log(2000))))
    card = _card(name, version, team, outcome, rng)
    arrived = BEGIN + timedelta(hours=37 * number + int(rng.integers(0, 24)))
    submission = Submission(
        id=submission_id(name, image),
        created=arrived,
        author=f"team-{team}",
        card=card,
        image=ImageRecord(
            reference=f"registry.example/team-{team}/{stem.lower()}:{version}", id=image, size_bytes=10**9
        ),
        arrival=Arrival(by="reference", invitation=f"team-{team}", slot=f"slot-{number}") if team % 4 else Arrival(),
        preflight=_preflight(card, speed, rng),
    )
    drift = float(np.exp(rng.normal(np.log(3e-5), 2.0)))
    log = f"loading weights of {name}\nready in {rng.uniform(1, 30):.1f} s" if number % 3 else ""
    return Model(number, submission, outcome, quality, speed, drift, bool(rng.uniform() > CPU_HOSTS), log)


def _outcome(number: int, n_models: int, rng: np.random.Generator) -> ModelOutcome:
    if n_models >= 20 and number < 3:
        return ModelOutcome(("empty", "failed", "single")[number])  # type: ignore[arg-type]
    drawn = rng.uniform()
    if drawn < 0.10:
        return ModelOutcome("molecules")
    if drawn < 0.22:
        return ModelOutcome("spoilt")
    return ModelOutcome("partial" if drawn < 0.26 else "ranked")


def _card(name: str, version: int, team: int, outcome: ModelOutcome, rng: np.random.Generator) -> ModelCard:
    domains: tuple[Domain, ...] = (MOLECULES,) if outcome.word == "molecules" else (CRYSTALS, MOLECULES, SURFACES)
    known = sorted({symbol for domain in domains for symbol in ELEMENTS[domain]})
    elements = known[: len(known) - int(rng.integers(0, 3))] if rng.uniform() < 0.8 else []
    chosen = {d: LABEL_SETS[d][int(rng.uniform() < 0.3)] for d in domains if rng.uniform() < 0.9}
    dispersed = bool(rng.uniform() < 0.4)
    return ModelCard(
        name=name,
        version=f"{version}.{int(rng.integers(0, 4))}",
        description=f"An invented model of team {team}, for measuring the judge with.",
        authors=tuple(f"Author {team}-{i}" for i in range(1 + int(rng.integers(0, 12)))),
        affiliation=f"Institute {team} of Things That Do Not Exist",
        license=str(rng.choice(("MIT", "Apache-2.0", "CC-BY-NC-4.0", "ASL", ""))),
        paper="https://example.org/paper" if team % 3 else "",
        code="https://example.org/code" if team % 2 else "",
        open_weights=(True, True, False, None)[int(rng.integers(0, 4))],
        n_parameters=int(10 ** rng.uniform(5, 9.3)) if rng.uniform() < 0.9 else None,
        conservative=(True, True, False, None)[int(rng.integers(0, 4))],
        dispersion=dispersed,
        precision=("float32", "float64", "mixed", "")[int(rng.integers(0, 4))],  # type: ignore[arg-type]
        elements=tuple(elements),
        training=tuple(
            TrainingSet(name=f"Invented set {chr(65 + i)}", level_of_theory="PBE", url=f"https://example.org/set-{i}")
            for i in sorted(rng.choice(8, int(rng.integers(0, 5)), replace=False).tolist())
        ),
        hardware="a GPU with 16 GiB of memory" if rng.uniform() < 0.5 else "",
        label_sets={d: StatedLabelSet(name=s, dispersion=s == "wB97M-V" or None) for d, s in chosen.items()},
    )


def _preflight(card: ModelCard, speed: float, rng: np.random.Generator) -> PreflightReport:
    passed = bool(rng.uniform() < 0.8)
    return PreflightReport(
        checks=(
            Check(name="starts", passed=True, value=f"ready in {rng.uniform(1, 30):.1f} s", gating=True),
            Check(name="answers", passed=True, value="finite energies of all structures", gating=True),
            Check(name="invariant", passed=True, value=f"{10 ** rng.uniform(-8, -5):.0e} eV/atom"),
            Check(name="forces = −∇E", passed=passed, value=f"differ by {10 ** rng.uniform(-5, -1):.0e} eV/Å"),
            Check(name="speed", passed=None, value=f"{speed:.0f} µs/atom"),
        ),
        calculator="Invented",
        properties=("energy", "forces", "stress"),
        batch=bool(rng.uniform() < 0.5),
        device="cuda",
        versions={"ase": "3.26", "numpy": "2.1.0", "python": "3.11.9"},
        timings=(Timing(n_atoms=100, seconds=speed * 1e-4),),
        startup_s=float(rng.uniform(1, 30)),
        n_parameters=card.n_parameters,
    )
