"""All attacks of the selftest."""

from __future__ import annotations

from sandbox.selftest.attack import Attack
from sandbox.selftest.cheating_attacks import CHEATING_ATTACKS
from sandbox.selftest.container_attacks import CONTAINER_ATTACKS
from sandbox.selftest.conversation_attacks import CONVERSATION_ATTACKS
from sandbox.selftest.page_cache_attacks import PAGE_CACHE_ATTACKS
from sandbox.selftest.protocol_attacks import PROTOCOL_ATTACKS
from sandbox.selftest.training_attacks import TRAINING_ATTACKS

ATTACKS: tuple[Attack, ...] = (
    *CONTAINER_ATTACKS,
    *PROTOCOL_ATTACKS,
    *CONVERSATION_ATTACKS,
    *CHEATING_ATTACKS,
    *PAGE_CACHE_ATTACKS,
    *TRAINING_ATTACKS,
)
