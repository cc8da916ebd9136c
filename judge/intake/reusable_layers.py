"""Layers that an author need not send: those of his own earlier images, and of base images that anybody may have.

Never those of other authors. Whoever names a layer gets it into his image: by its diff ID alone a stranger's weights
could be taken into a model of one's own, and read out of it.

`layers-public/<diff ID>.json` is one layer that the maintainer declared public. Nothing takes it away again: an image
that was made of it stays one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import AwareDatetime

from judge.intake.invitations import Invited
from judge.records.results import read_record
from submissions.records import Record, utc_now
from submissions.requests import Digest
from submissions.store.interface import Store

FOLDER = "layers-public/"


class PublicLayer(Record):
    """`layers-public/<diff ID>.json`.

    Args:
        image: that it was declared public with, as the maintainer called it.
    """

    schema_version: Literal[1] = 1
    diff_id: Digest
    image: str
    added: AwareDatetime


def public_layers(store: Store) -> list[PublicLayer]:
    """The layers that anybody may leave out, by image.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    keys = [key for key in store.list(FOLDER) if key.endswith(".json")]
    layers = [read_record(store, key, PublicLayer) for key in keys]
    return sorted(layers, key=lambda layer: (layer.image, layer.added, layer.diff_id))


def declare_public(store: Store, image: str, diff_ids: Iterable[str]) -> int:
    """How many of the layers of `image` were not public before, and are now.

    Args:
        diff_ids: of layers that the judge's registry has.

    Raises:
        StoreError: a record cannot be written.
    """
    added = 0
    for diff_id in dict.fromkeys(diff_ids):
        key = f"{FOLDER}{diff_id.removeprefix('sha256:')}.json"
        if not store.exists(key):
            layer = PublicLayer(diff_id=diff_id, image=image, added=utc_now())
            added += store.put_if_absent(key, layer.model_dump_json(indent=1).encode())
    return added


def may_be_left_out(invited: Invited, public: Iterable[PublicLayer]) -> frozenset[str]:
    """Diff IDs of the layers that the author who has the invitation need not send."""
    # Also of an image that failed the preflight: its layers were verified, and only what changed must be sent again.
    own = (stored.layers for stored in invited.fates.values() if stored.fate.came in ("submitted", "refused"))
    return frozenset(diff_id for layers in own for diff_id in layers) | {layer.diff_id for layer in public}
