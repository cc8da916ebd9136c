"""Two ends of a channel, and an answer to send through it."""

from __future__ import annotations

import socket

import numpy as np

from sandbox.guest.wire import (
    Channel,
    pack_header,
)


def pair() -> tuple[Channel, Channel, socket.socket]:
    ours, theirs = socket.socketpair()
    return Channel(ours), Channel(theirs), theirs


def send(
    channel: Channel, arrays: list[tuple[str, np.ndarray]], metadata: dict[str, str], deadline: float = np.inf
) -> None:
    channel.send(pack_header(arrays, metadata), [array for _, array in arrays], deadline)


def result_arrays(n: int = 2, total: int = 5) -> list[tuple[str, np.ndarray]]:
    return [
        ("id", np.array([7])),
        ("energy", np.arange(float(n))),
        ("forces", np.ones((total, 3))),
        ("stress", np.zeros((n, 6))),
        ("status", np.zeros(n, np.int64)),
    ]
