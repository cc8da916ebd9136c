"""Images that ask for what no image may have, and are refused; and an honest one, which is not."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.image.layer_check import ImageBudget
from sandbox.image.layer_rewriting import rewrite_layer
from sandbox.limits import MIB
from sandbox.selftest.asking import report, watched
from sandbox.selftest.attack import Attack, Finding, Trial, stated_attacks
from sandbox.selftest.polyglots import POLYGLOTS, honest_layer, root_link_layer
from sandbox.selftest.watch import WatchedContainer
from sandbox.verdict import SubmissionFault, Verdict
from sandbox.wire.remote import RemoteCalculator

COMPILED = 42.0


def _refused(trial: Trial) -> Finding:
    match trial.image:
        case SubmissionFault(verdict=Verdict.POLICY_VIOLATION):
            return Finding(True, "the image is refused")
        case SubmissionFault():
            return Finding(False, f"refused for another reason: {trial.image.verdict}: {trial.image.sentence}")
        case _:
            return Finding(False, "the image is taken as it is")


def _honest(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    loaded, run, _ = report(remote, COMPILED)
    held = loaded == COMPILED * 2 and run == 0
    return Finding(held, "its function is loaded and called" if held else f"f(42) = {loaded}, program's status {run}")


def _layer_refused(layer: Callable[[], bytes]) -> Callable[[Trial], Finding]:
    def examine(trial: Trial) -> Finding:
        budget = ImageBudget(MIB)
        rewrite_layer([honest_layer()], budget, lambda piece: None)  # raises, and so proves nothing, if none is taken
        try:
            rewrite_layer([layer()], budget, lambda piece: None)
        except SubmissionFault as fault:
            return Finding(True, f"refused: {fault.sentence}")
        return Finding(False, "the layer is taken as a tar, and an engine may unpack it")

    return examine


def _fails_by_its_own_fault(trial: Trial) -> Finding:
    """Held if an image that no engine can start does not have this machine blamed."""
    outcome = trial.run(lambda remote: None)  # raises if the engine's refusal is taken for a fault of this machine
    held = outcome.verdict is Verdict.IMAGE_INVALID
    return Finding(held, f"{outcome.verdict}: {outcome.sentence}")


IMAGE_ATTACKS = (
    *stated_attacks(
        {
            **{f"layer-{compression}": _layer_refused(layer) for compression, layer in POLYGLOTS.items()},
            "layer-root-link": _layer_refused(root_link_layer),
            "image-ld-preload": _refused,
            "image-ld-library-path": _refused,
            "image-visible-devices": _refused,
            "start-mount-link": _fails_by_its_own_fault,
            "start-folder-loop": _fails_by_its_own_fault,
        }
    ),
    Attack(
        "start-folder-long",
        "Its image's WORKDIR is a path of 6,000 bytes.",
        "honest:compiles",
        _fails_by_its_own_fault,
        settings={"WorkingDir": "/a" * 3000},
    ),
    *stated_attacks(
        {
            "start-folder-sys": _fails_by_its_own_fault,
            "start-nameless-variable": _fails_by_its_own_fault,
            "image-volume": _refused,
            "honest-compiler": watched(_honest),
        }
    ),
)
