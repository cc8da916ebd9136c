"""The judge's own sentence about an error that a submission raised: what the author should change.

A sentence is one of this closed list and holds no word of the submission, which may have seen hidden data.
"""

from __future__ import annotations

import re

_NETWORK = (
    "The calculator needs the network, and there is none: put what it downloads into the image, and load it from there."
)
_NO_FILE = "The calculator misses a file: weights must be inside the image, since there is no network."
_NOT_ALLOWED = (
    "The calculator may not read or write a file: it runs as user 65534, so weights must be readable by anyone "
    "(chmod -R a+rX), and only /tmp is writable."
)
MISSING_FILE_SENTENCES = frozenset({_NETWORK, _NO_FILE, _NOT_ALLOWED})
HOME_SENTENCE = (
    "User 65534 cannot read the image's HOME, so its caches are not seen: if weights are there, add "
    "`RUN chmod -R a+rX ~` to the Dockerfile."
)

# Patterns of `class: text`. The first that is found counts.
_SENTENCES = tuple(
    (re.compile(pattern), sentence)
    for pattern, sentence in (
        (r"^OldPython:", "The image's Python is too old: install Python 3.9 or later."),
        *(
            (
                rf"^ModuleNotFoundError: No module named '{package}'$",
                f"The image's Python has no {package}: add `RUN pip install {package}`, or name the Python that has it "
                "in the label org.lambench.python.",
            )
            for package in ("ase", "numpy")
        ),
        (
            r"^LabelError: no module",
            "There is no such module as the label org.lambench.calculator names: COPY it into the image (not into "
            "/tmp, which is empty), and set WORKDIR to its folder.",
        ),
        (r"^LabelError: no factory", "The module has no such factory as the label org.lambench.calculator names."),
        (
            r"^LabelError: not callable",
            "The label org.lambench.calculator names no function: name one that returns the calculator.",
        ),
        (r"^(SyntaxError|IndentationError|TabError):", "Python cannot read a file of the calculator: a syntax error."),
        (
            r"^TypeError: the factory returned the class ",
            "The factory returned a class: it must return an ASE calculator, so call the class.",
        ),
        (r"^TypeError: the factory returned None", "The factory returned None: it must return an ASE calculator."),
        (
            r"^TypeError: the factory must return an ASE calculator",
            "The factory returned something else than an ASE calculator: it has no calculate().",
        ),
        (
            r"^TypeError: implemented_properties has no energy",
            "The calculator offers no energy: add it to implemented_properties.",
        ),
        (
            r"^TypeError: .*missing \d+ required (positional|keyword-only) argument",
            "A function of the calculator needs more arguments than it got. The factory gets device, domain, "
            "label_set and model_dir: give others a default.",
        ),
        (
            r"^SystemExit:",
            "The calculator's module ended Python: call sys.exit and argparse only below `if __name__ == '__main__'`.",
        ),
        (
            r"Read-only file system",
            "The calculator writes outside /tmp, and the root filesystem is read-only: write to /tmp only.",
        ),
        (
            r"root privileges|must be root|Operation not permitted",
            "The calculator needs root: it runs as user 65534 without capabilities, and must work as any user.",
        ),
        (
            r"^(gaierror|URLError|ConnectionError|ConnectTimeout|MaxRetryError|NameResolutionError|"
            r"LocalEntryNotFoundError|OfflineModeIsEnabled):|[Nn]ame resolution|Name or service not known|"
            r"Network is unreachable|offline mode|HF_HUB_OFFLINE|TRANSFORMERS_OFFLINE|couldn't connect to|"
            r"Max retries exceeded",
            _NETWORK,
        ),
        (
            r"invalid load key, 'v'|git-lfs",
            "A file with weights is a pointer of Git LFS, not the weights: run `git lfs pull`, then build the image.",
        ),
        (
            r"Weights only load failed|weights_only",
            "This version of PyTorch does not load these weights: load a state_dict, or give weights_only=False.",
        ),
        (
            r"CUDA_ERROR_NO_DEVICE|No CUDA GPUs are available|Found no NVIDIA driver|not compiled with CUDA|"
            r"deserialize object on a CUDA device",
            "The calculator wants a GPU and was started on the CPU: use the device that the factory gets "
            "(map_location=device).",
        ),
        (
            r"cannot open shared object file",
            "A system library is missing in the image: install it with apt-get, or use a larger base image.",
        ),
        (r"GLIBC\w*_[\d.]+' not found", "A package needs a newer system than the image has: use a newer base image."),
        (
            r"numpy\.dtype size changed|compiled using NumPy 1|numpy\.core\.multiarray failed to import",
            "A package was built for another NumPy: install versions that fit, such as `numpy<2`.",
        ),
        (
            r"^ModuleNotFoundError:",
            "A module that the calculator imports is not in the image: install its package, or COPY it into WORKDIR.",
        ),
        (
            r"^ImportError:",
            "An import of the calculator failed: the image lacks a package, or has another version of it.",
        ),
        (
            r"^AttributeError:",
            "The factory uses a name that does not exist: another version of a package, or a typing error.",
        ),
        (r"^PermissionError:|Permission denied:", _NOT_ALLOWED),
        (r"^MemoryError:", "The calculator asked for an array that is larger than all memory: use less."),
        (r"^FileNotFoundError:|No such file or directory", _NO_FILE),
    )
)


def error_sentence(kind: str, text: str) -> str:
    """What the author should change; empty if the error is of no known kind.

    Args:
        kind: the error's class.
        text: its text.
    """
    whole = f"{kind}: {text}"
    return next((sentence for pattern, sentence in _SENTENCES if pattern.search(whole)), "")
