"""Where the paths of an image lead once its links are followed."""

from __future__ import annotations

import tarfile
import time

import pytest

from sandbox.image.image_links import ImageLinks
from sandbox.image.layer_check import ImageBudget, check_layer
from sandbox.selftest.polyglots import root_link_layer
from sandbox.verdict import SubmissionFault, Verdict
from tests.sandbox.image.test_layer_check import GIB, entry, tar_of


def link(name: str, target: str) -> tarfile.TarInfo:
    return entry(name, tarfile.SYMTYPE, linkname=target)


def hard_link(name: str, other: str) -> tarfile.TarInfo:
    return entry(name, tarfile.LNKTYPE, linkname=other)


def check(*layers: bytes) -> ImageBudget:
    budget = ImageBudget(GIB)
    for layer in layers:
        check_layer([layer], budget)
    return budget


TO_THE_ROOT = {
    "this folder": [link("a", ".")],
    "the root": [link("a", "/")],
    "a folder below and back": [link("a", "usr/..")],
    "above the root": [link("a", "../../..")],
    "from a folder": [link("usr/share/a", "../.."), link("a", "usr/share/a")],
    "a link that comes later": [link("a", "b/c"), link("b", "d"), link("d/c", "/")],
    "a folder that is a link": [link("b", "usr"), link("b/c", ".."), link("a", "usr/c")],
    "a hard link of a link": [link("b", "."), hard_link("a", "b")],
}


@pytest.mark.parametrize("links", TO_THE_ROOT.values(), ids=TO_THE_ROOT)
@pytest.mark.parametrize("name", ["a/lambench", "./a/tmp", "a//a/tmp", "a/./tmp/."])
@pytest.mark.parametrize("n_layers", [1, 2])
def test_a_link_at_a_mounted_folder_is_refused_by_any_of_its_names(
    links: list[tarfile.TarInfo], name: str, n_layers: int
) -> None:
    for bad in (link(name, "/proc/1"), hard_link(name, "usr/x"), entry(name)):
        layers = [tar_of(*links, bad)] if n_layers == 1 else [tar_of(*links), tar_of(bad)]
        with pytest.raises(SubmissionFault, match="where the sandbox mounts a folder") as caught:
            check(*layers)
        assert caught.value.verdict is Verdict.IMAGE_INVALID
        assert repr(name) in caught.value.sentence
    check(tar_of(*links, entry(name, tarfile.DIRTYPE)))


def test_the_layer_of_the_selftest_is_refused() -> None:
    with pytest.raises(SubmissionFault, match="/tmp, where the sandbox mounts"):
        check(root_link_layer())


HONEST = {
    "merged /usr": [
        *(link(name, f"usr/{name}") for name in ("bin", "lib", "lib64", "sbin")),
        link("var/run", "/run"),
        link("var/lock", "/run/lock"),
        link("usr/bin/X11", "."),
        entry("bin/tmp"),
        entry("usr/bin/X11/lambench"),
        entry("var/run/tmp", tarfile.DIRTYPE),
    ],
    "a link to /tmp": [link("var/tmp", "/tmp"), link("usr/tmp", "../tmp"), entry("var/tmp/x"), entry("opt/tmp")],
    "a link to the root": [link("host", "/"), entry("host/usr/tmp"), entry("host/etc/x")],
    "a link that a folder replaces": [link("a", "."), entry("a", tarfile.DIRTYPE), entry("a/tmp")],
    "a loop": [link("a", "b"), link("b", "a"), entry("a/tmp"), entry("b/x")],
    "names that end alike": [link("a", "."), entry("a/xtmp"), entry("a/tmp.."), entry("a/tmp/x")],
}


@pytest.mark.parametrize("entries", HONEST.values(), ids=HONEST)
def test_links_of_real_images_pass(entries: list[tarfile.TarInfo]) -> None:
    check(tar_of(*entries))
    check(*(tar_of(each) for each in entries))


def test_a_path_leads_where_the_kernel_follows_it() -> None:
    links = ImageLinks()
    for path, target in ((b"a", b"/usr/./b/"), (b"usr/b", b"../c"), (b"c", b"d//e"), (b"loop", b"loop/x")):
        links.add(path, target)
    for path, place in ((b"/a/f", b"d/e/f"), (b"./a/../x", b"d/x"), (b"../../q", b"q"), (b"loop/y", b"loop/y")):
        assert links.resolved(path) == place
    assert links.place_of(b"a") == b"a"
    assert links.place_of(b"usr/b/g/") == b"d/e/g"


def test_links_without_end_cost_neither_time_nor_memory() -> None:
    """A chain of forty links, whose targets have thousands of parts, for each of many entries."""
    chain = [link(f"l{n}", "x/../" * 800 + f"l{n + 1}") for n in range(39)]
    start = time.process_time()
    with pytest.raises(SubmissionFault, match="too many links"):
        check(tar_of(*chain, *(link(f"l0/{n}/tmp", "y") for n in range(10_000))))
    assert time.process_time() - start < 60
    budget = ImageBudget(GIB, links=ImageLinks(bytes_left=10_000))
    with pytest.raises(SubmissionFault, match="use fewer"):
        check_layer([tar_of(*(link(str(n), "x") for n in range(1000)))], budget)


def test_a_link_that_no_kernel_makes_is_refused() -> None:
    with pytest.raises(SubmissionFault, match="too long"):
        check(tar_of(link("a", "x/" * 2100)))
