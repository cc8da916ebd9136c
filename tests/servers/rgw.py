"""A real S3 server on loopback: Ceph's RGW, with the one mon and the one OSD that it needs."""

from __future__ import annotations

import json
import secrets
import subprocess
import tempfile
import uuid
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import requests
from botocore.config import Config

from tests.servers.server_process import (
    ServerFailed,
    ServerProcess,
    answers,
    free_port,
    skip_unless_here,
    start_with_patience,
)

START_S = 30
PROGRAMS = ("ceph", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin")

# No authentication among the daemons, hence no encryption among them either (`ms … mode`), which RGW would ask for.
# By default Paxos waits a second before each proposal; the start would take twelve seconds, not two.
CONFIG = """[global]
fsid = {fsid}
run dir = {folder}
admin socket =
keyring = {folder}/keyring
log file = {folder}/$name.log
mon host = v2:127.0.0.1:{mon_port}
mon data = {folder}/mon
mon data avail crit = 0
mon data avail warn = 0
mon allow pool size one = true
osd data = {folder}/osd
osd objectstore = memstore
memstore device bytes = 8589934592
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
ms mon cluster mode = crc
ms mon service mode = crc
ms client mode = crc
ms cluster mode = crc
ms service mode = crc
paxos propose interval = 0.02
paxos min wait = 0.01
rgw data = {folder}/rgw
rgw frontends = beast endpoint=127.0.0.1:{port} tcp_nodelay=1
rgw enable apis = s3, s3website, admin
rgw enable static website = true
rgw dns s3website name = localhost
"""


class Buckets(NamedTuple):
    """Two buckets that many tests share; each test uses its own prefix.

    Args:
        inbox: versioned; nobody else may read it.
        mail: anybody may get its objects.
        client: of their owner.
    """

    uploads: str
    statuses: str
    client: Any


class RgwServer:
    """Ceph RGW with one user, who may make buckets. It enforces signatures, expiry, policies and conditions.

    One port, two services, told apart by the name under which they are called:
    `http://127.0.0.1:PORT` is S3 (path-style addresses); `http://localhost:PORT` is the website endpoint, for a bucket
    with `put_bucket_website` and readable objects. There a bucket is a folder (`http://localhost:PORT/BUCKET/`), or a
    host (`http://BUCKET.localhost:PORT/`): browsers take any name below `localhost` for loopback, the C library does
    not, so a Python client asks `127.0.0.1` with `Host: BUCKET.localhost`.

    A missing page is 404 only where the reader may list the bucket (or its website names an error document that is
    there), else 403, as on AWS.

    Args:
        folder: of its own; its objects are in memory.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.access_key = secrets.token_hex(10).upper()
        self.secret_key = secrets.token_hex(20)
        self._processes: list[ServerProcess] = []

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def website_endpoint(self) -> str:
        return f"http://localhost:{self.port}"

    def website_of(self, bucket: str) -> str:
        """The address for a browser, with `bucket` as the host name."""
        return f"http://{bucket}.localhost:{self.port}"

    def client(self, access_key: str = "", secret_key: str = "") -> Any:
        """A boto3 client of the user, or of another user; it takes 0.1 s to make."""
        return self._client(access_key or self.access_key, secret_key or self.secret_key)

    @cache  # noqa: B019 - there is one server in a test run
    def _client(self, access_key: str, secret_key: str) -> Any:
        session = boto3.session.Session(access_key, secret_key)
        config = Config(
            signature_version="s3v4",
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        return session.client("s3", endpoint_url=self.endpoint, region_name="us-east-1", config=config)

    def new_bucket(self, versioned: bool = False, public: bool = False) -> str:
        """The name of a new bucket. Anybody may get the objects of a public bucket; only the user may list them."""
        name, client = f"b-{secrets.token_hex(6)}", self.client()
        client.create_bucket(Bucket=name)
        if versioned:
            client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
        if public:
            everybody = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}
            statement = {**everybody, "Resource": f"arn:aws:s3:::{name}/*"}
            policy = {"Version": "2012-10-17", "Statement": [statement]}
            client.put_bucket_policy(Bucket=name, Policy=json.dumps(policy))
        return name

    def new_user(self) -> tuple[str, str]:
        """Access key and secret key of a user without rights in the buckets of others."""
        keys = secrets.token_hex(10).upper(), secrets.token_hex(20)
        self._make_user(*keys)
        return keys

    def start(self) -> None:
        """Starts it, and returns when it answers, after about two seconds."""
        skip_unless_here(*PROGRAMS)
        start_with_patience(self._start, self.stop)

    def stop(self) -> None:
        """Kills it; all objects are lost."""
        while self._processes:
            self._processes.pop().kill()

    def _start(self) -> None:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "osd").mkdir()
        (folder / "keyring").touch()
        fsid, mon_port, self.port = str(uuid.uuid4()), free_port(), free_port()
        self._config = folder / "ceph.conf"
        self._config.write_text(CONFIG.format(folder=folder, fsid=fsid, mon_port=mon_port, port=self.port))
        monmap = folder / "monmap"
        _run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[v2:127.0.0.1:{mon_port}]", str(monmap))
        self._ceph("ceph-mon", "-i", "a", "--mkfs", "--monmap", str(monmap))
        self._spawn("ceph-mon", "-i", "a", "-f").wait_until(lambda: answers(mon_port), START_S)
        self._ceph("ceph", "--connect-timeout", str(START_S), "osd", "create")
        self._ceph("ceph-osd", "-i", "0", "--mkfs")
        self._spawn("ceph-osd", "-i", "0", "-f")
        self._make_user(self.access_key, self.secret_key)  # waits for the OSD, and makes the pools
        self._spawn("radosgw", "-n", "client.rgw", "-f").wait_until(self._ready, START_S)

    def _make_user(self, access_key: str, secret_key: str) -> None:
        name = f"user-{secrets.token_hex(4)}"
        keys = (f"--access-key={access_key}", f"--secret-key={secret_key}")
        self._ceph("radosgw-admin", "user", "create", f"--uid={name}", f"--display-name={name}", *keys)

    def _spawn(self, program: str, *arguments: str) -> ServerProcess:
        log = self._config.parent / f"{program}.out"
        process = ServerProcess([program, "-c", str(self._config), *arguments], log)
        self._processes.append(process)
        return process

    def _ceph(self, program: str, *arguments: str) -> None:
        _run(program, "-c", str(self._config), *arguments)

    def _ready(self) -> bool:
        try:
            return requests.get(self.endpoint, timeout=5).ok
        except requests.ConnectionError:
            return False


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_S)
    except subprocess.TimeoutExpired:
        raise ServerFailed(f"{command}: no end after {START_S} s") from None
    if done.returncode:
        raise ServerFailed(f"{command}: {done.stderr[-2000:]}")
