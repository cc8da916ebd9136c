"""`judge layers add|list`: layers of public base images, which no author needs to send."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import docker.errors
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape

from judge.cli.output import print_done, print_json
from judge.config import UsageError
from judge.images.disk_space import require_room
from judge.images.fetch import mirror_layers
from judge.images.mirror import open_mirror
from judge.images.spool import rewritten_layer
from judge.intake.reusable_layers import declare_public, public_layers
from judge.workspace import Workspace, open_workspace
from sandbox.drivers.docker_driver import connect_engine
from sandbox.drivers.docker_running import engine_faults
from sandbox.image.layer_check import ImageBudget
from sandbox.verdict import SubmissionFault
from submissions.client.image_archive import read_layout, save_image
from submissions.client.image_export import LayerPart, layer_parts
from submissions.progress import Reporter
from submissions.requests import ReferredImage
from submissions.tables import plain_table, table_console


def run_add(image: str, as_json: bool) -> None:
    """Stores the layers of IMAGE in the judge's registry, so that no author needs to send them."""
    workspace = open_workspace()
    with Reporter(Console(stderr=True)) as reporter:
        try:
            diff_ids = _mirrored(workspace, image, reporter.say)
        except SubmissionFault as fault:
            raise UsageError(f"{image}: {fault.sentence}") from None
    added = declare_public(workspace.store, image, diff_ids)
    line = f"{image}: {len(diff_ids)} layers; {added} of them were not public before. Next: judge intake"
    print_done(as_json, {"image": image, "layers": len(diff_ids), "new": added}, line)


def run_list(as_json: bool) -> None:
    """Lists the layers that no author needs to send."""
    layers = public_layers(open_workspace().store)
    if as_json:
        print_json([layer.model_dump(mode="json", exclude={"schema_version"}) for layer in layers])
        return
    if not layers:
        print("None yet: judge layers add IMAGE")
        return
    table = plain_table("image", "layer", "since")
    for layer in layers:
        table.add_row(escape(layer.image), layer.diff_id, f"{layer.added:%Y-%m-%d}")
    table_console().print(table)


def _mirrored(workspace: Workspace, image: str, say: Callable[[str], None]) -> tuple[str, ...]:
    """Stores the layers of `image` in the judge's registry; their diff IDs.

    Raises:
        SubmissionFault: there is no such image, or one of its layers is broken.
        JudgeFault: the engine or a registry does not answer, or a disk is full.
    """
    if "@sha256:" in image:
        return mirror_layers(workspace, ReferredImage(reference=image), say)
    return _mirrored_from_engine(workspace, _id_here(image), say)


def _id_here(image: str) -> str:
    """The ID of an image of this machine's engine, which need not be a calculator's."""
    client = connect_engine()
    try:
        with engine_faults():
            try:
                return str(client.api.inspect_image(image)["Id"])
            except docker.errors.ImageNotFound:
                raise UsageError(f"there is no image {image!r} on this machine: docker pull it") from None
    finally:
        client.close()


def _mirrored_from_engine(workspace: Workspace, image_id: str, say: Callable[[str], None]) -> tuple[str, ...]:
    mirror, settings = open_mirror(workspace), workspace.settings
    budget = ImageBudget(settings.max_image_bytes)
    layout = read_layout(save_image(image_id))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # /tmp may be in memory
        # A layer is there twice for a moment: as the engine saved it, and as the judge writes it.
        require_room(Path(folder), settings.min_free_bytes, 2 * max(file.n_bytes for file in layout.files))
        # Each layer is one part, so that only one layer is on the disk at a time.
        for file, parts in layer_parts(save_image(image_id), layout.files, Path(folder), settings.max_image_bytes):
            for part in parts:
                say(f"{file.diff_id[:19]}…: {decimal(part.n_bytes)} …")
                with rewritten_layer(_pieces(part), budget, 0, settings.min_free_bytes) as (layer, rewritten):
                    mirror.keep_layer(layer, rewritten)
    return layout.diff_ids


def _pieces(part: LayerPart) -> Iterator[bytes]:
    with part.path.open("rb") as file:
        yield from iter(lambda: file.read(1024**2), b"")
