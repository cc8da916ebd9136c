"""Layers that an author need not send: those of the author's earlier images, and those of public base images.

Layers of other authors are never among them. Anyone who names a layer gets it into the image: if a diff ID were
enough, an author could take the weights of another one into an image, and read them.

`layers-public/<diff ID>.json` is one layer that the maintainer declared public. It stays public, since images were made
of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import AwareDatetime

from judge.intake.invitations import InvitationState
from submissions.records import Record, utc_now
from submissions.requests import Digest
from submissions.store.interface import Store
from submissions.store.read_record import read_record

FOLDER = "layers-public/"


class PublicLayer(Record):
    """`layers-public/<diff ID>.json`.

    Args:
        image: that it belongs to, as the maintainer named it.
    """

    schema_version: Literal[1] = 1
    diff_id: Digest
    image: str
    added: AwareDatetime


def public_layers(store: Store) -> list[PublicLayer]:
    """The layers that no author needs to send, sorted by image.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    keys = [key for key in store.list(FOLDER) if key.endswith(".json")]
    layers = [read_record(store, key, PublicLayer) for key in keys]
    return sorted(layers, key=lambda layer: (layer.image, layer.added, layer.diff_id))


def declare_public(store: Store, image: str, diff_ids: Iterable[str]) -> int:
    """Declares the layers of `image` public; how many were not public before.

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


def omittable_layers(state: InvitationState, public: Iterable[PublicLayer]) -> frozenset[str]:
    """Diff IDs of the layers that the author with this invitation need not send."""
    # Also those of images that failed the preflight: they were verified, and only changed layers must be sent again.
    layers_of_author = (
        diff_id
        for stored in state.decisions.values()
        if stored.decision.outcome in ("submitted", "refused")
        for diff_id in stored.layers
    )
    return frozenset(layers_of_author) | {layer.diff_id for layer in public}
