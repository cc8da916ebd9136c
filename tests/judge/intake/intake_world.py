"""A judge with inbox, mail and mirror, all real, and the letters and images that authors send there."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import StringIO
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import docker
import docker.errors
import pytest
from rich.console import Console

from judge.intake.intake import intake
from judge.intake.invitations import Invited, letter_slot, part_slot, read_invitation
from judge.intake.status_bucket import read_forms, read_status
from judge.intake.summary import IntakeSummary
from sandbox.events import LOGGER, Event
from submissions.client.image_archive import read_layout, save_image
from submissions.client.image_export import layer_parts
from submissions.preflight.acceptance import submission_path
from submissions.progress import Reporter
from submissions.records import (
    ImageRecord,
    LabelSet,
    ModelCard,
    PreflightReport,
    Submission,
    submission_id,
    utc_now,
)
from submissions.requests import Fate, Forms, Letter, ReferredImage, SentLayer, SentPart, Status, UploadedImage
from tests.judge.intake.status_world import MailWorld
from tests.servers.registry import RegistryServer

SERVER = Path(__file__).parents[2] / "sandbox" / "own_server"
# A twentieth of the base: what an interpreter and the server need. It travels often in these tests.
SMALL = """
FROM lambench/base:latest AS whole
RUN mkdir /small && cp -L --parents /usr/bin/python3 $(ldd /usr/bin/python3 | grep -o '/[^ ]*') /small && \\
    cd $(python3 -c "import os; print(os.path.dirname(os.__file__))") && \\
    cp -r --parents $PWD/*.py $PWD/encodings $PWD/json $PWD/collections $PWD/re $PWD/importlib $PWD/lib-dynload /small
FROM scratch
COPY --from=whole /small /
COPY server.py /server.py
"""
CARD = ModelCard(name="Sum", label_sets={"Molecules": LabelSet(name="PBE")})


@contextmanager
def at_first(step: Event, do: Callable[[], object]) -> Iterator[None]:
    """Does something at the first event `step`, in the middle of whatever is at work then."""
    done: list[Event] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.lambench_event is step and not done:  # type: ignore[attr-defined]
                done.append(step)
                do()

    logger, listener = logging.getLogger(LOGGER), Listener()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(listener)
    try:
        yield
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)
    assert done == [step]


class Died(BaseException):
    """The judge is gone."""


@contextmanager
def dying_at(step: Event) -> Iterator[None]:
    """Ends whatever is at work at the first event `step`."""

    def die() -> None:
        raise Died

    with pytest.raises(Died), at_first(step, die):
        yield


class Pushed(NamedTuple):
    """An image of the engine, and where an author pushed it to."""

    id: str
    reference: str

    @property
    def letter(self) -> Letter:
        return Letter(author="Ada", card=CARD, image=ReferredImage(reference=self.reference))


class Authors:
    """Those who build images on this machine's engine, and push them to a registry."""

    def __init__(self, engine: docker.DockerClient, registry: RegistryServer) -> None:
        self._engine = engine
        self._host = registry.host
        self._tags: list[str] = []

    def image(self, name: str, entrypoint: str = "") -> Pushed:
        """An image of a server of its own, with a layer of its own; or one that starts something else."""
        words = json.dumps([entrypoint] if entrypoint else ["python3", "/server.py"])
        text = f'{SMALL}COPY Dockerfile /{name}\nLABEL org.lambench.protocol="1"\nENTRYPOINT {words}\n'
        repository = f"{self._host}/authors/{name}"
        with TemporaryDirectory() as folder:
            shutil.copy(SERVER / "server.py", folder)
            (Path(folder) / "Dockerfile").write_text(text)
            image, _ = self._engine.images.build(path=folder, tag=f"{repository}:1", rm=True)
        self._tags.append(f"{repository}:1")
        for line in self._engine.images.push(repository, tag="1", stream=True, decode=True):
            assert "error" not in line, line
        (digest,) = [d for d in self._engine.images.get(image.id).attrs["RepoDigests"] if d.startswith(repository)]
        return Pushed(str(image.id), digest)

    def forget(self, image: Pushed) -> None:
        """Takes an image from the engine: whoever wants it must pull it."""
        self._engine.images.remove(image.id, force=True)

    def close(self) -> None:
        """Takes what was built, or pulled from the mirror meanwhile, from the engine."""
        pulled = [
            digest
            for image in self._engine.api.images()  # in one request: others' images may vanish meanwhile
            for digest in image.get("RepoDigests") or ()
            if digest.startswith(f"{self._host}/")
        ]
        for name in (*self._tags, *pulled):
            with suppress(docker.errors.ImageNotFound):
                self._engine.images.remove(name, force=True)


@dataclass
class IntakeWorld(MailWorld):
    """Where a test takes letters."""

    def with_settings(self, **more: Any) -> IntakeWorld:
        """The same world, with other settings."""
        return replace(self, more={**self.more, **more})

    def write_all_settings(self) -> None:
        """The settings as a file, for commands."""
        of = self.settings
        names = ("store", "endpoint_url", "inbox", "mail", "mail_url", "mirror", "run_dir", "data", "key_file", "log")
        lines = [f'{name} = "{getattr(of, name)}"' for name in names]
        (self.root / "judge.toml").write_text("\n".join([*lines, f'registries = ["{of.registries[0]}"]', ""]))

    def record(self, image_id: str) -> Submission:
        """A submission of that image by somebody else."""
        submission = Submission(
            id=submission_id("Earlier", image_id),
            created=utc_now(),
            card=CARD,
            image=ImageRecord(reference="earlier:1", id=image_id),
            preflight=PreflightReport(checks=()),
        )
        assert self.store.put_if_absent(submission_path(submission.id), submission.model_dump_json().encode())
        return submission

    def put(self, invited: Invited, slot: str, data: bytes) -> None:
        """What a form does: writes an object into a slot."""
        key = f"{self.prefix}/{invited.invitation.name}/{slot}"
        self.client.put_object(Bucket=self.inbox, Key=key, Body=data)

    def send(self, invited: Invited, letter: Letter | bytes, n: int = 0) -> str:
        """Puts a letter into the `n`-th slot, and returns that."""
        slot = letter_slot(invited.invitation, n)
        self.put(invited, slot, letter if isinstance(letter, bytes) else letter.model_dump_json().encode())
        return slot

    def upload(self, invited: Invited, image: Pushed, held: Collection[str], max_bytes: int = 1024**2) -> Letter:
        """The letter of an image whose layers, but for those that are held, were put into slots for parts."""
        layout = read_layout(save_image(image.id))
        sent: dict[str, tuple[SentPart, ...]] = {}
        slots = (part_slot(invited.invitation, n) for n in count())
        with TemporaryDirectory() as folder:
            wanted = layout.without(held)
            for file, parts in layer_parts(save_image(image.id), wanted, Path(folder), max_bytes):
                arrived = []
                for part in parts:
                    slot = next(slots)
                    self.put(invited, slot, part.path.read_bytes())
                    arrived.append(SentPart(slot=slot, n_bytes=part.n_bytes, sha256=part.sha256))
                sent[file.diff_id] = tuple(arrived)
        layers = tuple(SentLayer(diff_id=diff_id, parts=sent.get(diff_id, ())) for diff_id in layout.diff_ids)
        image_sent = UploadedImage(reference="sum:1", config=layout.config.decode(), layers=layers)
        return Letter(author="Ben", card=CARD, image=image_sent)

    def intake(self) -> tuple[IntakeSummary, str]:
        """What `judge intake` does, in this process, and what it says."""
        said = StringIO()
        return intake(self.workspace, Reporter(Console(file=said, width=200))), said.getvalue()

    def fates(self, invited: Invited) -> dict[str, Fate]:
        """By slot."""
        again = read_invitation(self.store, invited.invitation.name)
        return {slot: stored.fate for slot, stored in again.fates.items()}

    def left(self, invited: Invited) -> set[str]:
        """The slots that still hold any version of an object."""
        folder = f"{self.prefix}/{invited.invitation.name}/"
        listed = self.client.list_object_versions(Bucket=self.inbox, Prefix=folder)
        found = [*listed.get("Versions", ()), *listed.get("DeleteMarkers", ())]
        return {version["Key"].removeprefix(folder) for version in found}

    def status(self, invited: Invited) -> Status:
        """What the author reads."""
        status = read_status(self.workspace, invited)
        assert status is not None
        return status

    def forms(self, invited: Invited) -> Forms:
        """What the author is offered."""
        forms = read_forms(self.workspace, invited)
        assert forms is not None
        return forms
