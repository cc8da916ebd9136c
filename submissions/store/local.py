"""A store in a directory of a local file system.

`put_if_absent` writes a synced temporary file in the same folder, gives it the key's name with `os.link`, which fails
if the name is taken, and syncs the folder. A crash in the middle leaves a temporary file, which is never listed.

If the disk is unmounted or the folder is renamed during a run, the judge must not begin a second store under the same
name. So it remembers the root's device and inode at the first use, and makes a root only for a store never used.
"""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from submissions.store.interface import Stamped, StoreError, check_key

GRANULARITY_NS = 3 * 10**9  # of the clock that stamps files; the coarsest of any file system is 2 s
_TEMPORARY = ".tmp-"


@contextmanager
def _disk_errors(what: object) -> Iterator[None]:
    """Turns errors of the file system into a `StoreError` that names `what` and the remedy."""
    try:
        yield
    except OSError as error:
        raise _store_error(what, error) from error


def _store_error(what: object, error: OSError) -> StoreError:
    remedies = {
        errno.ENOSPC: "free some space",
        errno.EDQUOT: "free some space",
        errno.EROFS: "mount it writable",
        errno.EACCES: "let this user write there",
        errno.EPERM: "keep the store on a file system with hard links, writable by this user",
        errno.ENAMETOOLONG: "give it a shorter name",
    }
    remedy = remedies.get(error.errno or 0, "check the disk")
    return StoreError(f"store: {what}: {error.strerror or error}: {remedy}")


class LocalStore:
    """A store in a directory of a local file system."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._top = str(self.root)
        self._known: tuple[int, int] | None = None  # device and inode of the root, from its first use on

    def get(self, key: str) -> bytes:
        path = f"{self._top}/{check_key(key)}"  # a Path would take as long as the reading
        self._check_root()
        try:
            with open(path, "rb", buffering=0) as file:
                return file.readall()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise KeyError(key) from None
        except OSError as error:
            raise _store_error(path, error) from error

    def put(self, key: str, data: bytes) -> None:
        path = self._path(key)
        with _disk_errors(path), self._temporary(path, data) as temporary:
            os.replace(temporary, path)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        path = self._path(key)
        with _disk_errors(path), self._temporary(path, data) as temporary:
            try:
                os.link(temporary, path)
            except FileExistsError:
                return path.is_file() and path.read_bytes() == data
        return True

    def list(self, prefix: str) -> Iterator[str]:
        with _disk_errors(self.root):
            return iter(sorted(key for key, _ in self._files(prefix)))

    def stamped(self, prefix: str) -> Iterator[Stamped]:
        now = time.time_ns()
        with _disk_errors(self.root):
            return iter(sorted(self._stamped(key, entry, now) for key, entry in self._files(prefix)))

    def _stamped(self, key: str, entry: os.DirEntry[str], now: int) -> Stamped:
        try:
            status = entry.stat()
        except FileNotFoundError:  # removed a moment ago, or a link to nowhere
            return Stamped(key, "", is_settled=False)
        stamp = f"{status.st_ctime_ns}-{status.st_ino}-{status.st_size}"
        is_settled = status.st_ctime_ns < now - GRANULARITY_NS
        return Stamped(key, stamp, is_settled, status.st_size, status.st_mtime)

    def _files(self, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """The files whose keys begin with `prefix`, unsorted. Links to folders are not followed."""
        folders = [self._folder_of(prefix)]
        while folders:
            folder = folders.pop()
            start = f"{folder}/" if folder else ""
            with suppress(FileNotFoundError, NotADirectoryError), os.scandir(f"{self._top}/{folder}") as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(start + entry.name)
                    elif (start + entry.name).startswith(prefix) and not (entry.name[0] == "." or entry.is_dir()):
                        yield start + entry.name, entry

    def delete(self, key: str) -> None:
        path = self._path(key)
        self._check_root()
        with _disk_errors(path), suppress(FileNotFoundError):
            path.unlink()
            _sync_folder(path.parent)

    def exists(self, key: str) -> bool:
        path = self._path(key)
        self._check_root()
        with _disk_errors(path):
            return path.is_file()

    def _folder_of(self, prefix: str) -> str:
        """The folder of all keys that begin with `prefix`; empty for the root."""
        folder = prefix.rpartition("/")[0]
        self._check_root()
        return check_key(folder) if folder else ""

    def _path(self, key: str) -> Path:
        return self.root / check_key(key)

    def _check_root(self) -> bool:
        """Whether the root exists. The root of the first use is remembered.

        Raises:
            StoreError: the root of the first use is gone, or another folder is in its place.
        """
        known = self._known  # read first: another thread may be making the root
        try:
            status = os.stat(self._top)
        except (FileNotFoundError, NotADirectoryError):
            if known is None:
                return False
            raise StoreError(f"store: {self.root} is gone: bring it back (mount it?), and run it again") from None
        except OSError as error:
            raise _store_error(self.root, error) from error
        identity = (status.st_dev, status.st_ino)
        if known is None:
            self._known = known = identity
        if identity != known:
            remedy = "restore the first one, and run it again"
            raise StoreError(f"store: {self.root} is another folder or disk than at first: {remedy}")
        return True

    @contextmanager
    def _temporary(self, path: Path, data: bytes) -> Iterator[Path]:
        """A synced file with `data` beside `path`, removed at the end. Then the folder is synced."""
        if not self._check_root():
            _make_folder(self.root, Path(self.root.anchor))
        _make_folder(path.parent, self.root)
        temporary = path.parent / f"{_TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # Again, now that it holds the file: if the root vanishes after this, so does the file, and naming it fails.
            self._check_root()
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)


def _make_folder(folder: Path, top: Path) -> None:
    """Makes `folder` and its parents below `top`, but never `top` itself, which may have vanished meanwhile.

    Each parent is synced: else a crash could lose the file with its folder.
    """
    if folder == top or folder.is_dir():
        return
    _make_folder(folder.parent, top)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
