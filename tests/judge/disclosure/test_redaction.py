"""A public record has nothing in which a submission could encode data, and nothing about a single structure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.disclosure.redaction import (
    public_parts,
    public_peaks,
    public_result,
    public_score,
    public_sentence,
    public_submission,
    rounded,
)
from judge.records.few_items import LEAST_ITEMS
from judge.records.records import Origin, Peaks, Result, Signature
from sandbox.evidence import exit_words
from sandbox.limits import MIB
from sandbox.verdict import Verdict
from submissions.records import Arrival, ImageRecord
from tasks.metrics.metric import Metric, MetricPart
from tests.world.board_records import SUITE, error, result, submission

CRYSTALS, SPEED = SUITE.tasks[0], SUITE.tasks[4]
ORIGIN = Origin(
    host="secret-host",
    driver="docker",
    engine="Docker 27.1 (runc 1.1.13, Linux 6.1.0, cgroup v2)",
    gpu="GPU-0000-1111",
    gpu_driver="550.54",
    hardware="x86_64, 2 cores",
    device="cuda",
    selftest="selftests/secret-host/1.json",
)


@given(st.floats(1e-3, 1e9), st.floats(1e-3, 1e7) | st.none(), st.integers(0, 2**42) | st.none())
def test_peaks_have_two_digits(wall: float, startup: float | None, memory: int | None) -> None:
    shown = public_peaks(Peaks(wall_s=wall, startup_s=startup, memory_bytes=memory))
    assert shown is not None
    assert shown.wall_s == rounded(wall) == pytest.approx(wall, rel=0.05)
    for value in (shown.startup_s, None if shown.memory_bytes is None else shown.memory_bytes / MIB):
        assert value is None or float(f"{value:.1e}") == value
    if memory is not None and memory > 100 * MIB:
        assert shown.memory_bytes == pytest.approx(memory, rel=0.06)
    assert public_peaks(shown) == shown


def test_a_hidden_task_has_no_exit_status() -> None:
    """A submission chooses it after it saw a structure, so each task could reveal a byte."""
    for verdict in (Verdict.CRASHED, Verdict.STARTUP_FAILED):
        sentences = {
            public_sentence(verdict, f"The container ended ({exit_words(code)}): see its log.", hidden=True)
            for code in (*range(256), None)
        }
        assert len(sentences) < 12  # signals have names
        assert not any(character.isdigit() for sentence in sentences for character in sentence)
        assert not any("see its log" in sentence for sentence in sentences)
    assert "exit status 3" in public_sentence(Verdict.CRASHED, "It ended (exit status 3).", hidden=False)


@pytest.mark.parametrize("verdict", [Verdict.IMAGE_INVALID, Verdict.POLICY_VIOLATION])
def test_a_hidden_task_has_no_text_from_the_image(verdict: Verdict) -> None:
    quoted = "The label org.lambench.calculator must be module:factory, not 'LEAKWORD'."
    assert "LEAKWORD" not in public_sentence(verdict, quoted, hidden=True)
    assert public_sentence(verdict, quoted, hidden=False) == quoted


def a_result() -> Result:
    whole = result(submission("alpha"), CRYSTALS, {"force_rmse": error(0.5)}, sentence="Completed.")
    parts = [
        MetricPart(by="group", name=f"{n} items", metric="mae", value=0.1, unit="eV", n_items=n) for n in (1, 4, 5)
    ]
    provenance = whole.provenance.model_copy(update={"origin": ORIGIN, "seeds": {"order_seed": 7}})
    signed = Signature(key="0" * 64, value="0" * 128)
    return whole.model_copy(update={"parts": tuple(parts), "provenance": provenance, "signature": signed})


@pytest.mark.parametrize("hidden", [True, False])
def test_of_the_machine_only_the_hardware_class_is_public(hidden: bool) -> None:
    shown = public_result(a_result(), hidden=hidden)
    text = shown.model_dump_json()
    for secret in ("secret-host", "Docker 27", "GPU-0000", "550.54", "selftests/", "0" * 64):
        assert secret not in text
    assert shown.provenance.origin.hardware == ORIGIN.hardware
    assert shown.metrics == a_result().metrics
    assert shown.verdict is Verdict.OK
    assert Result.read(text.encode()) == shown


def test_small_parts_and_seeds_of_hidden_sets_are_left_out() -> None:
    hidden, known = (public_result(a_result(), hidden=which) for which in (True, False))
    assert [part.n_items for part in hidden.parts] == [LEAST_ITEMS]
    assert [part.n_items for part in known.parts] == [1, 4, 5]
    assert (hidden.provenance.seeds, known.provenance.seeds) == ({}, {"order_seed": 7})


def parts_of(*sizes: int, metric: str = "mae") -> list[MetricPart]:
    return [
        MetricPart(by="group", name=f"{i}", metric=metric, value=0.1, unit="eV", n_items=n) for i, n in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    ("sizes", "shown"),
    [
        ((9, 7, 4), ()),  # the whole without the others reveals the third
        ((9, 7, 2, 2), ()),  # it reveals the third and fourth together
        ((9, 7, 3, 2), (9, 7)),
        ((9, 7), (9, 7)),
        ((9, 7, 0), (9, 7)),  # an empty part has nothing to reveal
        ((46, 45, 50), (45, 50)),  # the whole of 50 without the part of 46 are four items; elements overlap
    ],
)
def test_the_other_parts_do_not_reveal_a_small_part(sizes: tuple[int, ...], shown: tuple[int, ...]) -> None:
    parts = [*parts_of(*sizes), *parts_of(9, 7, metric="rmse")]
    whole = {name: Metric(value=0.1, unit="eV", n_items=50) for name in ("mae", "rmse")}
    public = public_parts(parts, whole, hidden=True)
    assert tuple(part.n_items for part in public if part.metric == "mae") == shown
    assert tuple(part.n_items for part in public if part.metric == "rmse") == (9, 7)
    assert public_parts(parts, whole, hidden=False) == tuple(parts)


def test_no_number_has_more_digits_than_it_may() -> None:
    third = 1 / 3
    metric = Metric(value=third, charged=third, baseline=third, failure_cost=third, unit="eV", n_items=50)
    part = MetricPart(by="group", name="one", metric="mae", value=third, unit="eV", n_items=9)
    whole = a_result().model_copy(update={"kind": "energy_differences", "metrics": {"mae": metric}, "parts": (part,)})
    for hidden, digits in ((True, 0.33), (False, 0.333333)):
        shown = public_result(whole, hidden=hidden)
        mae = shown.metrics["mae"]
        assert (mae.value, mae.charged, mae.baseline, mae.failure_cost) == (0.333333,) * 4
        assert [part.value for part in shown.parts] == [digits]


def test_hashes_of_hidden_structures_and_labels_are_left_out() -> None:
    whole = a_result().provenance
    hidden, known = (public_result(a_result(), hidden=which).provenance for which in (True, False))
    assert whole.frames_sha256
    assert whole.labels_sha256
    assert (hidden.frames_sha256, hidden.labels_sha256) == ("", "")
    assert (known.frames_sha256, known.labels_sha256) == (whole.frames_sha256, whole.labels_sha256)
    assert hidden.observation == whole.observation


def test_times_have_two_digits() -> None:
    metrics = {
        "time_mean": Metric(value=123.456, charged=128.9, unit="µs/atom", n_items=9),
        "time_spread": Metric(value=0.012345, unit="", n_items=9),
        "atoms_mean": Metric(value=1234.5, unit="atoms", n_items=9),
        "n_rechecked": Metric(value=123.0, unit="", n_items=9),
        "wire_cost": Metric(value=None, unit="µs", n_items=0),
    }
    shown = public_result(result(submission("alpha"), SPEED, metrics), hidden=False).metrics
    assert (shown["time_mean"].value, shown["time_mean"].charged) == (120.0, 130.0)
    assert shown["time_spread"].value == 0.012
    assert (shown["atoms_mean"].value, shown["n_rechecked"].value, shown["wire_cost"].value) == (1234.5, 123.0, None)
    other = public_result(result(submission("alpha"), CRYSTALS, metrics), hidden=False)
    assert other.metrics["time_mean"].value == 123.456
    assert (public_score("efficiency", 1.2345), public_score("force_field", 0.12345678)) == (1.2, 0.123457)


def test_only_the_name_of_a_process_drivers_folder_is_public() -> None:
    image = ImageRecord(reference="/home/me/emt?python=/usr/bin/python3", id="process:ab", driver="process")
    of_folder = submission("alpha").model_copy(update={"image": image})
    assert public_submission(of_folder).image.reference == "emt"
    assert public_submission(submission("alpha")) == submission("alpha")


@pytest.mark.parametrize(
    ("reference", "by", "shown"),
    [
        ("registry.group.example:5000/secret/project/emt@sha256:ab", "reference", "emt@sha256:ab"),
        ("alice/emt:1", "upload", "emt:1"),
        ("localhost/group/emt:1", "here", "emt:1"),
        ("lambench/emt:latest", "here", "lambench/emt:latest"),
        ("emt:1", "here", "emt:1"),
    ],
)
def test_an_authors_registry_is_not_public(reference: str, by: str, shown: str) -> None:
    model = submission("alpha")
    update = {
        "image": model.image.model_copy(update={"reference": reference}),
        "arrival": Arrival.model_validate({"by": by, "invitation": "" if by == "here" else "curie"}),
    }
    assert public_submission(model.model_copy(update=update)).image.reference == shown
