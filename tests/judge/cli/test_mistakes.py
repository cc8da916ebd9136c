"""Mistakes of a maintainer: each gets a line that names what is wrong and what to do, and an exit status."""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Callable
from typing import NamedTuple

import pytest
from ase.io import write

from submissions.records import utc_now
from tasks.suites.suite import packaged_suites
from tests.world.small_data import labelled
from tests.world.world import World

Change = Callable[[World], object]
NO_ENGINE = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}
NO_CREDENTIALS = {
    "AWS_CONFIG_FILE": "/nowhere",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
    "AWS_EC2_METADATA_DISABLED": "true",
}
STATED = "--name pt --version 1 --domain Molecules --label-set EMT"
S3 = {"endpoint_url": "http://127.0.0.1:9"}
UNITS = "say ase, or energy=hartree,length=bohr,forces=hartree/bohr,stress=-kbar"


class Mistake(NamedTuple):
    """A command after a change, the line that it prints, and its exit status. ID and ROOT stand for what is so called.

    Args:
        alone: whether the line is all that is printed.
    """

    command: str
    line: str
    status: int = 2
    change: Change = lambda world: None
    environment: dict[str, str] = {}  # noqa: RUF012  never changed
    alone: bool = True


def settings(**more: object) -> Change:
    return lambda world: world.write_settings(**more)


def edited(name: str, old: str, new: str) -> Change:
    """Replaces a text in a file of the world."""

    def edit(world: World) -> None:
        text = (world.root / name).read_text()
        assert old in text
        (world.root / name).write_text(text.replace(old, new, 1))

    return edit


def broken(pattern: str, text: str = "{") -> Change:
    """Overwrites the first file of that pattern."""
    return lambda world: next(iter(sorted(world.root.glob(pattern)))).write_text(text)


def without(name: str) -> Change:
    return lambda world: shutil.rmtree(world.root / name)


def elsewhere(world: World) -> None:
    """A folder without settings and store."""
    (world.root / "judge.toml").unlink()
    shutil.rmtree(world.root / "store")


def no_folder(world: World) -> None:
    shutil.rmtree(world.root / "store")
    (world.root / "store").write_text("in the way")


def withdrawn(world: World) -> None:
    assert world.run_here("withdraw", "emt", "--reason", "once")[0] == 0


def another_on_a_full_disk(world: World) -> None:
    world.submit("other")
    world.write_settings(min_free_bytes=1 << 60)


def another_whose_folder_is_gone(world: World) -> None:
    world.submit("other")
    shutil.rmtree(world.root / "other")


MISTAKES = {
    "no settings here": Mistake(
        "list",
        "judge: there is no judge.toml here: the store is ROOT/var/store",
        0,
        elsewhere,
        alone=False,
    ),
    "a setting that does not exist": Mistake(
        "list", "judge: judge.toml or LAMBENCH_COLOUR: colour: there is no such setting", 2, settings(colour="red")
    ),
    "a wrong value": Mistake(
        "list",
        "judge: judge.toml or LAMBENCH_DRIVER: driver: must be 'docker' or 'process', not 'podman'",
        2,
        settings(driver="podman"),
    ),
    "a file in the way of the store": Mistake(
        "list",
        "judge: this machine (STORE): store: ROOT/store is not a directory: move it away, or set store",
        3,
        no_folder,
    ),
    "a store of an unknown kind": Mistake(
        "list",
        "judge: this machine (STORE): store: s4:// is not known here: give a local directory, or s3://BUCKET/PREFIX",
        3,
        settings(store="s4://bucket"),
    ),
    "a bucket without its slashes": Mistake(
        "list",
        "judge: this machine (STORE): store: s3:/bucket/judge is no address: a bucket is s3://BUCKET/PREFIX",
        3,
        settings(store="s3:/bucket/judge"),
    ),
    "a store in a bucket without credentials": Mistake(
        "list",
        "judge: this machine (STORE): store: s3://bucket/judge/submissions/: no AWS credentials here: "
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
        3,
        settings(store="s3://bucket/judge", **S3),
        NO_CREDENTIALS,
    ),
    "a key in the store": Mistake(
        "evaluate --all",
        "judge: key_file: ROOT/store/signing.key lies within the store (ROOT/store): move it out of there",
        2,
        settings(key_file="store/signing.key"),
    ),
    "no submission named": Mistake(
        "evaluate", "judge: say which submissions: judge evaluate --all, or judge evaluate ID…"
    ),
    "an unknown submission": Mistake(
        "evaluate nobody", "judge: there is no submission 'nobody': see them with judge list"
    ),
    "an unknown task": Mistake(
        "evaluate --all --task tin", "judge: suite small has no task 'tin': it has copper, nickel"
    ),
    "a suite's file that is not there": Mistake(
        "evaluate --all --suite mine",
        "judge: mine: there is no such suite or file; the packaged suites are SUITES",
    ),
    "a suite changed under the same version": Mistake(
        "evaluate --all",
        "judge: small.toml: the suite was changed after it was judged, and its version is still 1 (changed: copper): "
        "give it another version (results of unchanged tasks are kept), or undo the change",
        2,
        edited("small.toml", "time_limit_s = 60", "time_limit_s = 61"),
    ),
    "pages of a suite changed under the same version": Mistake(
        "site build",
        "judge: small.toml: the suite was changed after it was judged, and its version is still 1 "
        "(added: tin; removed: copper): "
        "give it another version (results of unchanged tasks are kept), or undo the change",
        2,
        edited("small.toml", 'name = "copper"', 'name = "tin"'),
    ),
    "a field of a suite that does not exist": Mistake(
        "plan",
        "judge: small.toml: tasks.0 (copper): time_limit: there is no such field; did you mean time_limit_s?",
        2,
        edited("small.toml", "time_limit_s", "time_limit"),
    ),
    "a domain that does not exist": Mistake(
        "plan",
        "judge: small.toml: tasks.0 (copper): domain: must be 'Inorganic Materials', 'Molecules', 'Catalysis', "
        "not 'Metals'",
        2,
        edited("small.toml", '"Inorganic Materials"', '"Metals"'),
    ),
    "a release that does not exist": Mistake(
        "plan",
        "judge: small.toml: release: there is no release 'lambench-0.3', but corrected, lambench-0.3.1, "
        "lambench-1.0.0, lambench-2025-five; did you mean lambench-0.3.1?",
        2,
        edited("small.toml", 'version = "1"', 'version = "1"\nrelease = "lambench-0.3"'),
    ),
    "a release of MLIPAudit that does not exist": Mistake(
        "evaluate --all",
        "judge: small.toml: mlipaudit_release: there is no release '0.1.8', but mlipaudit, mlipaudit-0.1.8",
        2,
        edited("small.toml", 'version = "1"', 'version = "1"\nmlipaudit_release = "0.1.8"'),
    ),
    "no such GPU": Mistake(
        "evaluate --all --gpus GPU-0",
        "judge: this machine (GPU): GPU GPU-0 is not in this machine (it has none): name another UUID, "
        "as `nvidia-smi -L` lists them",
        3,
    ),
    "a budget of nothing": Mistake("evaluate --all --budget 0", "judge: --budget must be more than 0 hours, not 0"),
    "another driver than that of the submission": Mistake(
        "evaluate emt --driver docker",
        "judge: ID was submitted to be run as a process of this machine, with no isolation: give --driver process",
    ),
    "another driver than that of every submission": Mistake(
        "evaluate --all --driver docker",
        "There is nothing to judge with the driver docker: the lines above say why.",
        0,
        alone=False,
    ),
    "an engine that does not run": Mistake(
        "selftest",
        "judge: this machine (DOCKER): no Docker engine answers: start it, or set DOCKER_HOST",
        3,
        environment=NO_ENGINE,
    ),
    "an attack that does not exist": Mistake(
        "selftest --only fill-temp",
        "judge: there is no attack 'fill-temp': see judge selftest --list; did you mean fill-tmp?",
    ),
    "a disk that is full": Mistake(
        "evaluate --all --task copper",
        "Correct the faults above, then: judge evaluate --all --task copper",
        3,
        another_on_a_full_disk,
        alone=False,
    ),
    "a submission's folder that is gone": Mistake(
        "evaluate --all --driver process",
        "Correct the faults above, then: judge evaluate --all --driver process",
        1,
        another_whose_folder_is_gone,
        alone=False,
    ),
    "a data set that is missing": Mistake(
        "evaluate --all",
        "judge: suite small: 1 of 2 data sets are missing in ROOT/data",
        2,
        without("data/copper@1"),
        alone=False,
    ),
    "a data set that was changed": Mistake(
        "data verify",
        "NOT  ROOT/data/copper@1/labels.safetensors: sha256: is not what card.toml states; "
        "restore the file or make a new version",
        1,
        broken("data/copper@1/labels.safetensors"),
        alone=False,
    ),
    "a broken submission": Mistake(
        "list",
        "judge: this machine (STORE): store: submissions/ID/submission.json: content: "
        "Invalid JSON: EOF while parsing an object at line 1 column 1: restore it, or delete it",
        3,
        broken("store/submissions/*/submission.json"),
    ),
    "an observation that is gone": Mistake(
        "verify --all",
        "NOT  ID: 2 results: 2 of them do not hold",
        1,
        without("store/observations"),
        alone=False,
    ),
    "a score that does not exist": Mistake(
        "explain emt --score charm", "judge: --score: there is no 'charm', but force-field, ml-peg"
    ),
    "publishing into the store": Mistake(
        "site publish --to store/pages",
        "judge: publish_to: ROOT/store/pages and store (ROOT/store), which is private: "
        "one lies within the other: separate them",
    ),
    "publishing into a bucket without credentials": Mistake(
        "site publish --to s3://bucket/site",
        "judge: this machine (STORE): s3://bucket/site/site.json: no AWS credentials here: "
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
        3,
        settings(**S3),
        NO_CREDENTIALS,
    ),
    "serving pages before they are built": Mistake(
        "site serve", "judge: there are no pages in ROOT/site: judge site build"
    ),
    "withdrawing without a reason": Mistake("withdraw emt", "judge: give a reason: --reason TEXT"),
    "withdrawing twice": Mistake(
        "withdraw emt --reason again",
        "judge: ID was withdrawn on DATE: once: to change that, judge reinstate ID first",
        2,
        withdrawn,
    ),
    "reinstating what is in the ranking": Mistake(
        "reinstate emt --reason why", "judge: ID is in the ranking: there is nothing to reinstate"
    ),
    "judging again what was not judged": Mistake(
        "rejudge --all --task copper",
        "judge: nothing of this was judged yet, so it cannot be rejudged: judge evaluate --all --task copper",
        2,
        without("store/results"),
    ),
    "applying before judging again": Mistake(
        "rejudge emt --apply --reason why",
        "judge: no finished round can be applied: run judge rejudge emt first, and look at its changes",
    ),
    "inviting without a bucket": Mistake(
        "invite curie",
        'judge: upload_bucket: is not set: write upload_bucket = "s3://BUCKET/PREFIX" into judge.toml, '
        "or set LAMBENCH_UPLOAD_BUCKET",
    ),
    "revoking an invitation that does not exist": Mistake(
        "revoke curie --reason left", "judge: nobody is invited as curie: see judge invitations"
    ),
    "trusting what is no key": Mistake(
        "keys trust abc", "judge: KEY: 'abc' is no public key: 64 hexadecimal digits, as judge keys show says"
    ),
    "importing a file in another format": Mistake(
        f"data import deepmd Pt.extxyz {STATED}", "judge: Pt.extxyz: is a file: deepmd is a folder"
    ),
    "importing without units": Mistake(
        f"data import extxyz Pt.extxyz {STATED}",
        f"judge: --units: is missing: extxyz does not state its units; {UNITS}",
    ),
    "importing in wrong units": Mistake(
        f"data import extxyz Pt.extxyz {STATED} --units energy=hartree",
        "judge: --units: length is not stated: add length=angstrom, or the unit of positions and cell",
    ),
}


def _filled(line: str, values: dict[str, str]) -> str:
    for pattern, value in values.items():
        line = re.sub(pattern, value, line)
    return line


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_gets_a_line_that_names_it_and_a_status(judged_world: World, mistake: Mistake) -> None:
    world = judged_world
    world.write_settings()
    write(world.root / "Pt.extxyz", labelled("Pt", 2), format="extxyz")
    submission = next(world.store.list("submissions/")).split("/")[1]
    mistake.change(world)
    status, out, err = world.run_here(*mistake.command.split(), **mistake.environment)
    values = {
        "ROOT": str(world.root),
        r"\bID\b": submission,
        "SUITES": ", ".join(packaged_suites()),
        "DATE": f"{utc_now():%Y-%m-%d}",
    }
    line = mistake.line if "evaluate ID…" in mistake.line else _filled(mistake.line, values)
    lines = (out + err).splitlines()
    assert (status, line in lines) == (mistake.status, True), (status, lines)
    if mistake.alone:
        assert lines == [line]


def test_a_port_that_is_in_use_is_named(judged_world: World) -> None:
    judged_world.write_settings()
    (judged_world.root / "site").mkdir(exist_ok=True)
    (judged_world.root / "site" / "index.html").touch()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        status, _, err = judged_world.run_here("site", "serve", "--port", str(port))
    assert (status, err) == (
        2,
        f"judge: port {port} cannot be used (Address already in use): give another one with --port\n",
    )


def test_without_an_engine_an_evaluation_ends_with_the_machines_status(judged_world: World) -> None:
    """A submission that needs a container: its unit is not started, no attempt is spent, and options are repeated."""
    world = judged_world
    key = next(key for key in world.store.list("submissions/") if key.endswith("/submission.json"))
    image = world.store.get(key).replace(b'"driver":"process"', b'"driver":"docker"')
    world.store.put(key, image)
    for room in ("attempts", "results"):
        shutil.rmtree(world.root / "store" / room)
    world.write_settings(driver="docker", engine_wait_s=0)
    status, out, err = world.run_here("evaluate", "--all", "--task", "copper", "--skip-missing", **NO_ENGINE)
    assert (status, err) == (3, "")
    assert out.splitlines()[-1] == "Correct the faults above, then: judge evaluate --all --task copper --skip-missing"
    assert list(world.store.list("attempts/")) == []


def test_a_suite_may_change_with_its_version_and_before_anything_is_judged(judged_world: World) -> None:
    world = judged_world
    world.write_settings()
    edited("small.toml", "time_limit_s = 60", "time_limit_s = 61")(world)
    edited("small.toml", 'version = "1"', 'version = "2"')(world)
    status, out, err = world.run_here("evaluate", "--all")
    assert (status, "1 judged, 1 done before" in out) == (0, True), err
    shutil.rmtree(world.root / "store" / "results")
    world.store.put("results/notes", b"no result")
    edited("small.toml", "time_limit_s = 61", "time_limit_s = 62")(world)
    assert world.run_here("plan")[0] == 0
    edited("small.toml", 'title = "A small suite"', 'title = "Another title"')(world)
    assert world.run_here("evaluate", "--all")[0] == 0
    edited("small.toml", 'title = "Another title"', 'title = "A small suite"')(world)
    assert world.run_here("plan")[0] == 0
