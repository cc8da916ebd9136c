"""Images that ask for what no image may have, and are refused; and an honest one, which is not."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.image.layer_check import ImageBudget
from sandbox.image.layer_rewriting import rewrite_layer
from sandbox.limits import MIB
from sandbox.selftest.asking import report, watched
from sandbox.selftest.attack import Attack, Finding, Trial
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
    outcome = trial.run(lambda remote: None)  # raises if the engine's refusal is taken for a fault of this machine
    held = outcome.verdict is Verdict.IMAGE_INVALID
    return Finding(held, f"{outcome.verdict}: {outcome.sentence}")


def _unstartable(name: str, tries: str, *dockerfile: str, **settings: object) -> Attack:
    """An image that no engine can start, so that its author could have this machine blamed."""
    return Attack(f"start-{name}", tries, "honest:compiles", _fails_by_its_own_fault, dockerfile, settings)


IMAGE_ATTACKS = (
    *(
        Attack(
            f"layer-{compression}",
            f"A layer of its image is one tar to the judge, and with {compression} another tar.",
            "honest:compiles",
            _layer_refused(layer),
        )
        for compression, layer in POLYGLOTS.items()
    ),
    Attack(
        "layer-root-link",
        "A layer of its image has a link to the root, and by way of it a link at /tmp.",
        "honest:compiles",
        _layer_refused(root_link_layer),
    ),
    Attack(
        "image-ld-preload",
        "Its image sets LD_PRELOAD.",
        "honest:compiles",
        _refused,
        ("ENV LD_PRELOAD=/model/other.so",),
    ),
    Attack(
        "image-ld-library-path",
        "Its image sets a foreign LD_LIBRARY_PATH.",
        "honest:compiles",
        _refused,
        ("ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64:/model",),
    ),
    Attack(
        "image-visible-devices",
        "Its image sets NVIDIA_VISIBLE_DEVICES=all.",
        "honest:compiles",
        _refused,
        ("ENV NVIDIA_VISIBLE_DEVICES=all",),
    ),
    _unstartable("mount-link", "Its image has a link to /proc/1 at /lambench.", "RUN ln -s /proc/1 /lambench"),
    _unstartable("folder-loop", "Its image's WORKDIR is a loop of links.", "RUN ln -s /loop /loop", WorkingDir="/loop"),
    _unstartable("folder-long", "Its image's WORKDIR is a path of 6,000 bytes.", WorkingDir="/a" * 3000),
    _unstartable("folder-sys", "Its image's WORKDIR is a new folder below /sys.", WorkingDir="/sys/x"),
    _unstartable("nameless-variable", "Its image sets a variable without a name.", Env=["=x"]),
    Attack("image-volume", "Its image declares a volume.", "honest:compiles", _refused, ("VOLUME /data",)),
    Attack(
        "honest-compiler",
        "Nothing: it compiles a function in /tmp, loads it, and must pass.",
        "honest:compiles",
        watched(_honest),
    ),
)
