"""`site.json` of a site in a bucket: which objects belong to the site, their headers, and which may be removed.

An object that is not listed is never overwritten or removed. A name is listed before an object is put under it: after a
crash the next publication knows what is left over. An object is listed as unreferenced from the time when no visible
page refers to it. After an interrupted publication that is not known, so this time starts again.
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
    """One object of the site. Empty fields: only known to belong to the site.

    Args:
        sha256: of the file, unpacked.
        etag: of the object.
        served: its headers.
        unreferenced: since when no page refers to it.
        going: it is being removed, or was. No judge may rely on it; it stays listed until it is seen to be gone.
    """

    sha256: str = ""
    etag: str = ""
    served: str = ""
    unreferenced: AwareDatetime | None = None
    going: bool = False


class SiteList(Record):
    """All objects of the site by path; `complete` if the last publication was finished.

    Args:
        token: random, so that two judges that claim the same objects at once write different bytes.
    """

    complete: bool = True
    token: str = ""
    objects: dict[str, ListedObject]


def read_list(data: bytes | None, where: str) -> SiteList:
    """The content of `site.json`, also of one written for a folder; an empty list if there is none.

    Raises:
        StoreError: it cannot be read: then no object in the bucket may be changed.
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
    """The list at the beginning of a publication of `names`: new names belong to the site from now on."""
    objects = {name: _again(entry, now) if not listed.complete else entry for name, entry in listed.objects.items()}
    new = {name: ListedObject(unreferenced=now) for name in sorted(names) if name not in objects or objects[name].going}
    return SiteList(complete=False, token=token, objects={**objects, **new})


def _again(entry: ListedObject, now: datetime) -> ListedObject:
    return entry.model_copy(update={"unreferenced": now}) if entry.unreferenced else entry


def with_shown(
    claimed: SiteList, shown: Mapping[str, ListedObject], present: Collection[str], now: datetime, grace: timedelta
) -> SiteList:
    """The list after all of `shown` was put. Objects that were unreferenced for at least `grace` are going.

    A claimed name without an object stays listed: a judge that was overtaken may be about to put it. A name that is
    going and has no object is dropped.

    Args:
        present: names of all objects in the bucket when the claim was made.
    """
    unreferenced = {
        name: _unreferenced(entry, now, grace)
        for name, entry in claimed.objects.items()
        if name not in shown and name != MANIFEST and (name in present or not entry.going)
    }
    return SiteList(token=claimed.token, objects=dict(sorted({**unreferenced, **shown}.items())))


def _unreferenced(entry: ListedObject, now: datetime, grace: timedelta) -> ListedObject:
    since = entry.unreferenced or now
    return entry.model_copy(update={"unreferenced": since, "going": entry.going or since <= now - grace})


def going(listed: SiteList) -> tuple[str, ...]:
    """The objects to be removed."""
    return tuple(name for name, entry in listed.objects.items() if entry.going)


def is_same(entry: ListedObject | None, etag: str, wanted: SiteObject) -> bool | None:
    """Whether the bucket has `wanted` with these headers, and will keep it; None if the object must be asked.

    Args:
        etag: from the bucket's listing.
    """
    if entry and entry.going:
        return False
    if entry and entry.etag == etag:
        return (entry.sha256, entry.served) == (wanted.sha256, str(wanted.served))
    return None if etag == wanted.md5.hex() else False
