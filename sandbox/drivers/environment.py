"""The environment that a submission runs in, the same for every driver."""

from __future__ import annotations

from pathlib import PurePosixPath

from sandbox.driver import Image, Question
from sandbox.limits import Limits
from sandbox.rundir import DATA_NAME, MODEL_NAME, SOCKET_NAME


def environment(
    image: Image, limits: Limits, question: Question, folder: str, tmp: str = "/tmp", out: str = "/out"
) -> dict[str, str]:
    """Variables that the judge sets: the question, caches that are only written in `tmp`, and no network.

    Where a library looks for weights (HOME, XDG_CACHE_HOME, TORCH_HOME, HF_HOME) no variable is set here.

    Args:
        folder: of the session, as the submission sees it.
        out: the folder in which a trainer leaves its model.
    """
    training = {
        "LAMBENCH_TRAINER": image.trainer,
        "LAMBENCH_DATA_DIR": f"{folder}/{DATA_NAME}",
        "LAMBENCH_OUT_DIR": out,
        "LAMBENCH_ORDER": "",  # the guest's own; neither the image nor the judge's environment may set it
        "LAMBENCH_ALONE": "",
    }
    cache = PurePosixPath(tmp) / "cache"
    return {
        "LAMBENCH_SOCKET": f"{folder}/{SOCKET_NAME}",
        "LAMBENCH_CALCULATOR": image.calculator,
        "LAMBENCH_DEVICE": question.device,
        "LAMBENCH_DOMAIN": question.domain or "",
        "LAMBENCH_LABEL_SET": question.label_set or "",
        "LAMBENCH_MAX_ATOMS_PER_BATCH": str(limits.max_atoms_per_batch),
        "TMPDIR": tmp,
        "USER": "lambench",
        "LOGNAME": "lambench",
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "CUDA_CACHE_PATH": str(cache / "cuda"),
        "NUMBA_CACHE_DIR": str(cache / "numba"),
        "MPLCONFIGDIR": str(cache / "matplotlib"),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "NVIDIA_VISIBLE_DEVICES": question.gpu or "void",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
        **(training if question.out_bytes else {}),
        **({"LAMBENCH_MODEL_DIR": f"{folder}/{MODEL_NAME}"} if question.has_model else {}),
    }
