"""Broken inputs: bytes and JSON, made from good ones by a seeded generator, and a count of all inputs."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable
from os import environ
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

BATCH = 50
SOAK_SEED = int(environ.get("LAMBENCH_FUZZ_SEED", secrets.randbits(64)))
COUNTS: Counter[str] = Counter()
SIZES = pytest.mark.parametrize(
    ("share", "soak"),
    [pytest.param(0.02, False, id="share"), pytest.param(1.0, True, marks=pytest.mark.soak, id="whole")],
)

NUMBERS = (0, 1, 7, 8, 255, 2**16, 2**31, 2**32, 2**47, 2**48 - 1, 2**48, 2**63 - 1, 2**63, 2**64 - 1)
WORDS = (
    "",
    "energy",
    "forces",
    "id",
    "__metadata__",
    "op",
    "result",
    "F64",
    "I64",
    "BF16",
    "\ud800",
    "\0",
    "١",
    "x" * 300,
)
# Tokens that no JSON writer produces, and that some readers accept.
TOKENS = (
    b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-0", b"1.0e-400", b'"\\ud800"', b"\xff\xfe", b"{}", b"[]", b"null",
    b"true", b"'", b'"', b",", b"\x00",
)  # fmt: skip
# Tokens that are also slow to read: nested as deep as a reader allows, or deeper; with more digits than Python allows.
HEAVY = (b"1" * 5000, b"[" * 20_000, b'{"a":' * 5000, b"[" * 985 + b"]" * 985)
HEAVY_SHARE = 0.03


def fuzz(name: str, n: int, trial: Callable[[Random], None], *, soak: bool) -> None:
    """Calls `trial` with inputs of `n` seeded generators; hypothesis chooses the seeds and shrinks one that fails.

    `make test` runs the same share each time. A soak run begins with another seed each time, which is printed.
    """

    def batch(number: int) -> None:
        random = Random(number)
        for _ in range(BATCH):
            trial(random)
            COUNTS[name] += 1

    phases = (Phase.explicit, Phase.generate, Phase.shrink)
    checks = list(HealthCheck)
    chosen = settings(
        max_examples=-(-n // BATCH), deadline=None, database=None, derandomize=not soak, phases=phases,
        suppress_health_check=checks,
    )  # fmt: skip
    run = chosen(given(st.integers(0, 2**64 - 1))(batch))
    (seed(SOAK_SEED)(run) if soak else run)()


def number(random: Random) -> Any:
    """A number, mostly near an edge."""
    value = random.choice(NUMBERS) + random.choice((-1, 0, 0, 1))
    return random.choice((value, -value, value / 8, random.random(), 1e300, random.getrandbits(70)))


def value(random: Random, depth: int = 0) -> Any:
    """A meaningless JSON value."""
    pick = random.randrange(8 if depth < 3 else 5)
    if pick < 2:
        return number(random)
    if pick < 4:
        return random.choice(WORDS)
    if pick == 4:
        return random.choice((None, True, False, [], {}))
    several = [value(random, depth + 1) for _ in range(random.randrange(4))]
    return several if pick < 7 else {random.choice(WORDS): each for each in several}


def changed(random: Random, node: Any) -> Any:
    """`node` with one part changed, removed, doubled or added."""
    if not isinstance(node, dict | list) or not node or random.random() < 0.15:
        return value(random)
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    key = random.choice(keys)
    copy: Any = dict(node) if isinstance(node, dict) else list(node)
    pick = random.randrange(8)
    if pick == 0:
        del copy[key]
    elif pick == 1 and isinstance(copy, dict):
        copy[random.choice(WORDS)] = copy[key]
    elif pick == 1:
        copy.append(copy[key])
    else:
        copy[key] = changed(random, copy[key])
    return copy


def mangled_json(random: Random, good: Any) -> bytes:
    """JSON from `good`, changed in places, sometimes into something that is not JSON."""
    node = good
    for _ in range(random.randrange(4)):
        node = changed(random, node)
    text = json.dumps(node, separators=(",", ":")).encode()
    if random.random() < 0.2:
        text = with_token(random, text)
    return mangled(random, text) if random.random() < 0.2 else text


def with_token(random: Random, text: bytes) -> bytes:
    """`text` with one of its values replaced by an invalid token."""
    places = [i for i, c in enumerate(text) if c in b":[,"] or [0]
    at = random.choice(places) + 1
    stop = next((i for i in range(at, len(text)) if text[i] in b",]}"), len(text))
    return text[:at] + token(random) + text[stop:]


def token(random: Random) -> bytes:
    """One of `TOKENS`, sometimes one of `HEAVY`."""
    return random.choice(HEAVY if random.random() < HEAVY_SHARE else TOKENS)


def mangled(random: Random, data: bytes) -> bytes:
    """`data` with a few bytes flipped, cut out, doubled, put in, or with a length overwritten."""
    out = bytearray(data)
    for _ in range(1 + random.randrange(3)):
        at = random.randrange(len(out) + 1)
        pick = random.randrange(6)
        if pick == 0 and out:
            out[at % len(out)] ^= 1 << random.randrange(8)
        elif pick == 1:
            del out[at : at + random.randrange(1, 40)]
        elif pick == 2:
            out[at:at] = out[at : at + random.randrange(1, 40)]
        elif pick == 3:
            out[at:at] = random.randbytes(random.randrange(1, 20))
        elif pick == 4:
            where = random.choice((0, 8, at))
            out[where : where + 8] = (random.choice(NUMBERS) % 2**64).to_bytes(8, "little")
        else:
            del out[at:]
    return bytes(out)
