"""`site.json` of a site in a bucket: what of the bucket is the site's own, how it is handed out, and what may go.

Nothing that is not listed is ever overwritten or removed. So a name is listed before anything is put under it: whatever
dies when, the next who publishes knows what is left over. An object is listed as unreferenced from the moment on when
no page that was shown refers to it; in the middle of a publication nothing can be said of that, and the time counts
anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from pydantic import AwareDatetime, ValidationError

from judge.publishing.folder import MANIFEST, SiteManifest
from judge.publishing.served_file import SiteObject
from submissions.records import Record
from submissions.store.interface import StoreError


class ListedObject(Record):
    """One object of the site. All is empty of which nothing is known but that it is the site's own.

    Args:
        sha256: of the file, unpacked.
        etag: by which the bucket names what was put there.
        served: how it is handed out.
        unreferenced: since when.
        going: it is being removed, or was: nobody may count on it, and it stays listed until it is seen to be gone.
    """

    sha256: str = ""
    etag: str = ""
    served: str = ""
    unreferenced: AwareDatetime | None = None
    going: bool = False


class SiteList(Record):
    """All objects of the site by path; `complete` if the last who began to publish also came to the end.

    Args:
        token: of whoever wrote it: two who claim the same at the same moment do not write the same bytes.
    """

    complete: bool = True
    token: str = ""
    objects: dict[str, ListedObject]


def read_list(data: bytes | None, where: str) -> SiteList:
    """What `site.json` holds, also one that was written into a folder; nothing is listed where there is none.

    Raises:
        StoreError: it cannot be read, and so nothing in the bucket may be touched.
    """
    if data is None:
        return SiteList(objects={})
    try:
        return SiteList.read(data)
    except ValidationError:
        pass
    try:
        folder = SiteManifest.read(data)
    except ValidationError:
        raise StoreError(f"{where} cannot be read: publish with a newer judge, or under another prefix") from None
    names = {**dict.fromkeys(folder.retired, ""), **folder.files}
    return SiteList(complete=False, objects={name: ListedObject(sha256=digest) for name, digest in names.items()})


def with_claimed(listed: SiteList, names: Collection[str], now: datetime, token: str = "") -> SiteList:
    """The list with which one begins to publish `names`: those that are new are the site's own from now on."""
    objects = {name: _again(entry, now) if not listed.complete else entry for name, entry in listed.objects.items()}
    new = {name: ListedObject(unreferenced=now) for name in sorted(names) if name not in objects or objects[name].going}
    return SiteList(complete=False, token=token, objects={**objects, **new})


def _again(entry: ListedObject, now: datetime) -> ListedObject:
    return entry.model_copy(update={"unreferenced": now}) if entry.unreferenced else entry


def with_shown(
    claimed: SiteList, shown: Mapping[str, ListedObject], there: Collection[str], now: datetime, grace: timedelta
) -> SiteList:
    """The list after all of `shown` was put in its place; what nothing has referred to for at least `grace` is going.

    A name that somebody claimed stays, though nothing is there: whoever was overtaken may be about to put it. It is
    forgotten when it was to go, and nothing is there.

    Args:
        there: names of all objects that the bucket held when the claim was made.
    """
    left = {
        name: _left(entry, now, grace)
        for name, entry in claimed.objects.items()
        if name not in shown and name != MANIFEST and (name in there or not entry.going)
    }
    return SiteList(token=claimed.token, objects=dict(sorted({**left, **shown}.items())))


def _left(entry: ListedObject, now: datetime, grace: timedelta) -> ListedObject:
    since = entry.unreferenced or now
    return entry.model_copy(update={"unreferenced": since, "going": entry.going or since <= now - grace})


def going(listed: SiteList) -> tuple[str, ...]:
    """The objects that are to be removed."""
    return tuple(name for name, entry in listed.objects.items() if entry.going)


def is_same(entry: ListedObject | None, etag: str, wanted: SiteObject) -> bool | None:
    """Whether the bucket holds `wanted`, and will hold it, handed out so; None where only the object itself can tell.

    Args:
        etag: that the bucket's listing gives.
    """
    if entry and entry.going:
        return False
    if entry and entry.etag == etag:
        return (entry.sha256, entry.served) == (wanted.sha256, str(wanted.served))
    return None if etag == wanted.md5.hex() else False
