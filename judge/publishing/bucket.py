"""The site in a bucket: changed files are put there, assets first and `index.html` last; old files are removed later.

A bucket changes one object at a time. So nothing is removed that a page may still refer to. Wherever a publication
dies, every page in the bucket is complete, of this version or of the one before, and so are its assets. The next
publication completes the site.

If two judges publish at once, the later one takes over. Each begins with a new `site.json` with a token of its own, on
the condition that the file is as it was read. Before the first page it checks that its `site.json` is still there, and
it puts every object on the condition that the object is as it was seen. A judge that was overtaken notices that there,
or at the latest at the end, and reports it.

An object is listed as going before it is removed. A judge that begins meanwhile does not rely on such an object: if it
needs it, it puts it again, checks before the index that it is still there, and if not, puts it once more.
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
    """The objects of a bucket where a site is or will be.

    Args:
        etags: by path; not all of these objects belong to the site.
        version: ETag of `site.json`; empty if there is none.
        rewritten: names of objects that belong to the site although they are not listed; they are put again.
    """

    etags: Mapping[str, str]
    listed: SiteList
    version: str
    rewritten: frozenset[str]


@dataclass(frozen=True)
class BucketSite:
    """A site below a prefix of a bucket.

    Args:
        grace: how long an object stays that no page refers to.
    """

    objects: BucketObjects
    grace: timedelta
    now: Callable[[], datetime] = utc_now

    @classmethod
    def at(cls, url: str, endpoint_url: str, grace: timedelta) -> Self:
        """The site at `s3://bucket/prefix`.

        Raises:
            StoreError: `url` or `endpoint_url` is not an address.
        """
        return cls(BucketObjects(connect(endpoint_url), bucket_place(url, "publish_to")), grace)

    def path(self, name: str = "") -> str:
        return self.objects.path(name)

    def may_be_absent(self) -> bool:
        return False

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        return self.objects.get_all(names)

    def misserved(self, names: Iterable[str]) -> tuple[str, ...]:
        return self.objects.misserved(names)

    def difference(self, files: Mapping[str, bytes], rewritten: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
        names, now = [*files, FILE], self.now()
        contents = read_contents(self.objects, names, rewritten)
        wanted = {name: site_object(name, content) for name, content in files.items()}
        differing = set(differing_names(self.objects, contents, wanted))
        new = {name for name in differing if name not in contents.etags}
        claimed = with_claimed(contents.listed, [*names, *contents.rewritten], now)
        shown = with_shown(claimed, dict.fromkeys(names, ListedObject()), contents.etags, now, self.grace)
        return {
            "new": tuple(sorted(new)),
            "changed": tuple(sorted(differing - new)),
            "same": tuple(sorted(files.keys() - differing)),
            "removed": tuple(name for name in going(shown) if name in contents.etags),
        }

    @contextmanager
    def staged(self, files: Mapping[str, bytes], rewritten: Collection[str] = ()) -> Iterator[StagedObjects]:
        site = StagedObjects(self, read_contents(self.objects, [*files, FILE], rewritten))
        for name, content in files.items():
            site.add(name, content)
        site.begin()
        yield site


class StagedObjects:
    """Files to be put into a bucket. After `begin`, the assets among them are there."""

    def __init__(self, site: BucketSite, contents: BucketContents) -> None:
        self._site, self._objects, self._contents = site, site.objects, contents
        self._wanted: dict[str, SiteObject] = {}
        self._uncompared: dict[str, SiteObject] = {}  # not yet compared with the bucket's objects
        self._to_put: dict[str, SiteObject] = {}
        self._etags: dict[str, str] = {}
        self._claimed, self._version, self._token = contents.listed, contents.version, secrets.token_hex(16)

    def add(self, name: str, content: bytes) -> None:
        """Adds the file `name`."""
        self._wanted[name] = self._uncompared[name] = site_object(name, content)

    def begin(self) -> None:
        """Lists all names as the site's own; then puts the assets, to which no page refers yet.

        Raises:
            StoreError: another judge has begun to publish, or an object is in the way that is not the site's own.
        """
        self._settle()
        names = [*self._wanted, FILE, *self._contents.rewritten]
        self._claimed = with_claimed(self._contents.listed, names, self._site.now(), self._token)
        self._version = self._put_list(self._claimed)
        self._put([name for name in self._to_put if order(name)[0] == 0])

    def show(self) -> None:
        """Puts all other files, `index.html` last; then removes what no page has referred to for long.

        Raises:
            StoreError: another judge has begun to publish.
        """
        self._settle()
        self._require_own_list()
        for _, stage in groupby(sorted(self._to_put.keys() - {INDEX}, key=order), key=lambda name: order(name)[0]):
            self._put(list(stage))
        self._bring_back()
        self._put(list(self._to_put))
        now = self._site.now()
        shown = {
            name: ListedObject(sha256=wanted.sha256, etag=self._etags[name], served=str(wanted.served))
            for name, wanted in self._wanted.items()
        }
        listed = with_shown(self._claimed, shown, self._contents.etags, now, self._site.grace)
        self._version = self._put_list(listed)
        if old := going(listed):
            self._objects.remove(old)
            self._require_own_list()  # a judge that began before the last removal may rely on a removed object

    def _require_own_list(self) -> None:
        """Returns if no other judge has begun to publish."""
        if dict(self._objects.list(MANIFEST)).get(MANIFEST) != self._version:
            raise self._objects.changed(MANIFEST)

    def _bring_back(self) -> None:
        """Puts objects once more that the judge that published before removed meanwhile."""
        risky = {name for name in going(self._contents.listed) if name in self._etags}
        if risky:
            present = list_objects(self._objects, risky)
            gone = {name: self._wanted[name] for name in risky if name not in present}
            self._etags |= self._objects.put_all(gone, {})

    def _settle(self) -> None:
        """Leaves out files that the bucket has already."""
        differing = set(differing_names(self._objects, self._contents, self._uncompared))
        for name, wanted in self._uncompared.items():
            if name in differing:
                self._to_put[name] = wanted
            else:
                self._etags[name] = self._contents.etags[name]
        self._uncompared = {}

    def _put(self, names: Collection[str]) -> None:
        self._etags |= self._objects.put_all({name: self._to_put[name] for name in names}, self._contents.etags)
        for name in names:
            del self._to_put[name]

    def _put_list(self, listed: SiteList) -> str:
        data = listed.model_dump_json(exclude_defaults=True).encode() + b"\n"
        return self._objects.put(MANIFEST, site_object(MANIFEST, data), self._version)


def read_contents(objects: BucketObjects, names: Collection[str], rewritten: Collection[str] = ()) -> BucketContents:
    """The objects in the folders of `names`, and in those where the site was before. Other folders are not read.

    Args:
        rewritten: names that belong to the site even if its list does not contain them.

    Raises:
        StoreError: the bucket does not answer, or holds a `site.json` that cannot be read.
    """
    got = objects.get(MANIFEST)
    listed = read_list((got[0] or b"") if got else None, objects.path(MANIFEST))
    etags = list_objects(objects, (*names, *listed.objects, *rewritten))
    return BucketContents(etags, listed, got[1] if got else "", frozenset(rewritten) & etags.keys())


def list_objects(objects: BucketObjects, names: Collection[str]) -> dict[str, str]:
    """The ETags by path of all objects in the folders of `names` and in the top folder."""
    etags = dict(objects.list(""))
    for folder in sorted({f"{name.split('/')[0]}/" for name in names if "/" in name}):
        etags |= dict(objects.list(folder))
    return etags


def differing_names(objects: BucketObjects, contents: BucketContents, wanted: Mapping[str, SiteObject]) -> list[str]:
    """The names of `wanted` that the bucket does not have in this form.

    Raises:
        StoreError: an object under one of these names is not the site's own.
    """
    etags, listed, rewritten = contents.etags, contents.listed.objects, contents.rewritten
    by_list = {
        name: is_same(listed.get(name), etags[name], new) if name in etags and name not in rewritten else False
        for name, new in wanted.items()
    }
    by_object = objects.holds({name: wanted[name] for name, same in by_list.items() if same is None})
    differing = [name for name, same in by_list.items() if not by_object.get(name, same)]
    foreign = [name for name in differing if name in etags and name not in listed and name not in rewritten]
    if foreign:
        if dict(objects.list(MANIFEST)).get(MANIFEST, "") != contents.version:  # the objects may be listed by now
            raise StoreError(f"{objects.path()}: another is publishing there: see who, then publish again")
        more = f" (and {len(foreign) - 1} more)" if len(foreign) > 1 else ""
        remedy = "remove it, set publish_to, or, where this judge published it, judge site publish --anew"
        raise StoreError(f"{objects.path(min(foreign))}{more} is not the site's own: {remedy}")
    return differing
