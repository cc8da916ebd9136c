"""The attacks on the container itself, and the honest image that must not be taken for one."""

from __future__ import annotations

from sandbox.selftest.attack import Attack
from sandbox.selftest.filling_attacks import FILLING_ATTACKS
from sandbox.selftest.image_attacks import IMAGE_ATTACKS
from sandbox.selftest.lifetime_attacks import LIFETIME_ATTACKS
from sandbox.selftest.network_attacks import NETWORK_ATTACKS
from sandbox.selftest.privilege_attacks import PRIVILEGE_ATTACKS
from sandbox.selftest.reading_attacks import READING_ATTACKS

CONTAINER_ATTACKS: tuple[Attack, ...] = (
    *NETWORK_ATTACKS,
    *FILLING_ATTACKS,
    *PRIVILEGE_ATTACKS,
    *READING_ATTACKS,
    *LIFETIME_ATTACKS,
    *IMAGE_ATTACKS,
)
