"""The site in a bucket: what has changed is put there, assets first and `index.html` last; what is old goes later.

A bucket changes one object at a time. So nothing is removed that a page may still ask for: whichever object a
publication dies at, each page that is there is whole, of this version or of the one before, and so is all that it
needs. Publishing again completes it.

Of two who publish at once the later takes over: each begins by putting `site.json` anew with a token of his own, on the
condition that it is as he read it, looks before the first page whether it still is as he put it, and puts every object
on the condition that it is as he saw it. Whoever was overtaken learns it there, or at the latest at the end, and says
so.

What is to be removed is listed as going before it is removed. Whoever begins meanwhile counts on none of it: what of it
he needs he puts anew, looks before the index whether it is still there, and puts what is not once more.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Self

from judge.publishing.bucket_objects import BucketObjects
from judge.publishing.folder import INDEX, MANIFEST, order
from judge.publishing.object_list import ListedObject, SiteList, going, is_same, read_list, with_claimed, with_shown
from judge.publishing.served_file import SiteObject, site_object
from judge.records.manifest import FILE
from submissions.records import utc_now
from submissions.store.interface import StoreError
from submissions.store.s3_client import bucket_place, connect


@dataclass(frozen=True)
class BucketContents:
    """What a bucket holds of a site, and beside it.

    Args:
        etags: by path, of all objects where the site has or will have any; not all of them are its own.
        version: ETag of `site.json`; empty where there is none.
        own: names of objects that are there, are the site's own for another reason than the list, and are put again.
    """

    etags: Mapping[str, str]
    listed: SiteList
    version: str
    own: frozenset[str]


class BucketSite:
    """A site below a prefix of a bucket.

    Args:
        grace: for so long what the pages no longer refer to stays.
    """

    def __init__(self, objects: BucketObjects, grace: timedelta, now: Callable[[], datetime] = utc_now) -> None:
        self._objects, self._grace, self._now = objects, grace, now

    @classmethod
    def at(cls, url: str, endpoint_url: str, grace: timedelta) -> Self:
        """The one that `s3://bucket/prefix` names.

        Raises:
            StoreError: it names none, or no service can be at `endpoint_url`.
        """
        return cls(BucketObjects(connect(endpoint_url), bucket_place(url, "publish_to")), grace)

    def path(self, name: str = "") -> str:
        return self._objects.path(name)

    def may_be_absent(self) -> bool:
        return False

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        return self._objects.get_all(names)

    def misserved(self, names: Iterable[str]) -> tuple[str, ...]:
        return self._objects.misserved(names)

    def difference(self, files: Mapping[str, bytes], own: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
        names, now = [*files, FILE], self._now()
        found = read_contents(self._objects, names, own)
        wanted = {name: site_object(name, content) for name, content in files.items()}
        differing = set(differing_of(self._objects, found, wanted))
        new = {name for name in differing if name not in found.etags}
        claimed = with_claimed(found.listed, [*names, *found.own], now)
        shown = with_shown(claimed, dict.fromkeys(names, ListedObject()), found.etags, now, self._grace)
        return {
            "new": tuple(sorted(new)),
            "changed": tuple(sorted(differing - new)),
            "same": tuple(sorted(files.keys() - differing)),
            "removed": tuple(name for name in going(shown) if name in found.etags),
        }

    @contextmanager
    def staged(self, files: Mapping[str, bytes], own: Collection[str] = ()) -> Iterator[StagedObjects]:
        site = StagedObjects(self._objects, read_contents(self._objects, [*files, FILE], own), self._grace, self._now)
        for name, content in files.items():
            site.add(name, content)
        site.begin()
        yield site


class StagedObjects:
    """Files that are to be put into a bucket; once it has begun, the assets among them are there."""

    def __init__(
        self, objects: BucketObjects, found: BucketContents, grace: timedelta, now: Callable[[], datetime]
    ) -> None:
        self._objects, self._found, self._grace, self._now = objects, found, grace, now
        self._wanted: dict[str, SiteObject] = {}
        self._unseen: dict[str, SiteObject] = {}  # not yet compared with what is there
        self._left: dict[str, SiteObject] = {}  # to be put
        self._etags: dict[str, str] = {}
        self._claimed, self._version, self._token = found.listed, found.version, secrets.token_hex(16)

    def add(self, name: str, content: bytes) -> None:
        """Takes the file that is to lie at `name`."""
        self._wanted[name] = self._unseen[name] = site_object(name, content)

    def begin(self) -> None:
        """Lists all names as the site's own; then puts the assets there, which no page asks for yet.

        Raises:
            StoreError: another has begun to publish meanwhile, or something that is not the site's own is in the way.
        """
        self._settle()
        names = [*self._wanted, FILE, *self._found.own]
        self._claimed = with_claimed(self._found.listed, names, self._now(), self._token)
        self._version = self._put_list(self._claimed)
        self._put([name for name in self._left if order(name)[0] == 0])

    def show(self) -> None:
        """Puts everything else in its place, `index.html` last; then removes what has long not been referred to.

        Raises:
            StoreError: another has begun to publish meanwhile.
        """
        self._settle()
        self._require_own_list()
        for _, stage in groupby(sorted(self._left.keys() - {INDEX}, key=order), key=lambda name: order(name)[0]):
            self._put(list(stage))
        self._bring_back()
        self._put(list(self._left))
        now = self._now()
        shown = {
            name: ListedObject(sha256=wanted.sha256, etag=self._etags[name], served=str(wanted.served))
            for name, wanted in self._wanted.items()
        }
        listed = with_shown(self._claimed, shown, self._found.etags, now, self._grace)
        self._version = self._put_list(listed)
        if old := going(listed):
            self._objects.remove(old)
            self._require_own_list()  # whoever began before the last was removed may have counted on it

    def _require_own_list(self) -> None:
        """Passes while nobody else has begun to publish."""
        if dict(self._objects.list(MANIFEST)).get(MANIFEST) != self._version:
            raise self._objects.changed(MANIFEST)

    def _bring_back(self) -> None:
        """Puts once more what was removed, after it was put here, by whoever published before."""
        risky = {name for name in going(self._found.listed) if name in self._etags}
        if risky:
            there = list_objects(self._objects, risky)
            gone = {name: self._wanted[name] for name in risky if name not in there}
            self._etags |= self._objects.put_all(gone, {})

    def _settle(self) -> None:
        """Leaves out what is there already, as it should be."""
        differing = set(differing_of(self._objects, self._found, self._unseen))
        for name, wanted in self._unseen.items():
            if name in differing:
                self._left[name] = wanted
            else:
                self._etags[name] = self._found.etags[name]
        self._unseen = {}

    def _put(self, names: Collection[str]) -> None:
        self._etags |= self._objects.put_all({name: self._left[name] for name in names}, self._found.etags)
        for name in names:
            del self._left[name]

    def _put_list(self, listed: SiteList) -> str:
        data = listed.model_dump_json(exclude_defaults=True).encode() + b"\n"
        return self._objects.put(MANIFEST, site_object(MANIFEST, data), self._version)


def read_contents(objects: BucketObjects, names: Collection[str], own: Collection[str] = ()) -> BucketContents:
    """What lies where `names` are to lie, and where the site lay before; whatever else there is, is not looked at.

    Args:
        own: names under which only the site's own can lie, whatever its list says.

    Raises:
        StoreError: the bucket does not answer, or holds a `site.json` that cannot be read.
    """
    got = objects.get(MANIFEST)
    listed = read_list((got[0] or b"") if got else None, objects.path(MANIFEST))
    etags = list_objects(objects, (*names, *listed.objects, *own))
    return BucketContents(etags, listed, got[1] if got else "", frozenset(own) & etags.keys())


def list_objects(objects: BucketObjects, names: Collection[str]) -> dict[str, str]:
    """The ETag by path of all objects in the folders of `names`, and of those in none."""
    etags = dict(objects.list(""))
    for folder in sorted({f"{name.split('/')[0]}/" for name in names if "/" in name}):
        etags |= dict(objects.list(folder))
    return etags


def differing_of(objects: BucketObjects, found: BucketContents, wanted: Mapping[str, SiteObject]) -> list[str]:
    """The names of `wanted` that are not in the bucket as they are.

    Raises:
        StoreError: under one of them lies what is not the site's own.
    """
    etags, listed, own = found.etags, found.listed.objects, found.own
    told = {
        name: is_same(listed.get(name), etags[name], new) if name in etags and name not in own else False
        for name, new in wanted.items()
    }
    asked = objects.holds({name: wanted[name] for name, same in told.items() if same is None})
    differing = [name for name, same in told.items() if not asked.get(name, same)]
    foreign = [name for name in differing if name in etags and name not in listed and name not in own]
    if foreign:
        if dict(objects.list(MANIFEST)).get(MANIFEST, "") != found.version:  # so all of it may be listed by now
            raise StoreError(f"{objects.path()}: another is publishing there: see who, then publish again")
        more = f" (and {len(foreign) - 1} more)" if len(foreign) > 1 else ""
        remedy = "remove it, set publish_to, or, where this judge published it, judge site publish --anew"
        raise StoreError(f"{objects.path(min(foreign))}{more} is not the site's own: {remedy}")
    return differing
