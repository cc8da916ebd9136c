"""`python -m judge.demo images NAME…` builds images of examples; `wheels FILE…` prints the folders of their
wheels."""

from __future__ import annotations

import sys
from pathlib import Path

from judge.demo.images import ExampleImages, build_client, find_base
from judge.demo.wheels import CUDA_NOTE, has_cuda, wheels_of
from sandbox.verdict import JudgeFault


def main(verb: str, *arguments: str) -> None:
    """Does one of the two.

    Raises:
        JudgeFault: this machine cannot.
    """
    if verb == "wheels":
        for folder in map(wheels_of, map(Path, arguments)):
            if has_cuda(folder):
                print(CUDA_NOTE, file=sys.stderr)
            print(folder)
        return
    client = build_client()
    images = ExampleImages(client, find_base(client, None, _say), _say)
    for name in arguments:
        images.build(name)


def _say(text: str) -> None:
    print(f"==> {text}", flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except JudgeFault as fault:
        sys.exit(f"error: {fault.remedy}")
