"""A whole `judge selftest` of this machine's engine, run once for all tests that need one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from judge.evaluation.host_selftest import AttackRecord, SelftestRecord, run_selftest
from judge.records.signing import own_key
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.rundir import RunDir
from submissions.store.interface import Store
from submissions.store.local import LocalStore


@dataclass(frozen=True)
class Selftested:
    """The outcome of a whole selftest.

    Args:
        path: in the store, of its record.
        signed: the stored bytes of it.
        key_file: the private key that signed it; results are to be signed with the same.
    """

    path: str
    signed: bytes
    key_file: Path

    @property
    def record(self) -> SelftestRecord:
        return SelftestRecord.read(self.signed)

    @property
    def results(self) -> dict[str, AttackRecord]:
        """The results by name of the attack."""
        return {result.name: result for result in self.record.results}

    def store(self, store: Store) -> None:
        """Stores the record in `store`, as `judge selftest` does."""
        assert store.put_if_absent(self.path, self.signed)


def run(folder: Path) -> Selftested:
    """Runs every attack in the real sandbox. `folder` holds the files that it makes."""
    key_file, store = folder / "signing.key", LocalStore(folder / "store")
    with TemporaryDirectory(prefix="lj") as short:
        run_selftest(store, DockerDriver(RunDir(Path(short))), own_key(key_file))
    (path,) = store.list("selftests/")
    return Selftested(path, store.get(path), key_file)
