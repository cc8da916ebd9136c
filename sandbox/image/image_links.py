"""The symbolic links of an image, by the headers of its layers: where a path of the image leads.

A link to the root, as `a -> .`, gives every path a second name: engines write the entry `a/tmp` to `/tmp`. A link may
come later than another one that leads to it, so all links are kept, up to a bound. Layers that are in the judge's
registry already are not read again, so their links are not known here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sandbox.image.image_check import invalid

MAX_LINK_BYTES = 128 * 1024**2
MAX_FOLLOWED = 40  # as Linux: then a path leads nowhere
_BYTES_OF_LINK = 100  # that Python needs beside the names, about


@dataclass
class ImageLinks:
    """The links of the layers that were read so far, the lowest first.

    A folder or a file that replaces a link removes it. A whiteout does not: the link counts on, so a tar with both is
    refused rather than accepted.

    Args:
        bytes_left: of names that may still be kept or followed.
    """

    bytes_left: int = MAX_LINK_BYTES
    _targets: dict[bytes, bytes] = field(default_factory=dict)

    def add(self, path: bytes, target: bytes) -> None:
        """Adds the link at `path`.

        Raises:
            SubmissionFault: the image has too many links.
        """
        path = self.place_of(path)
        self._take(_BYTES_OF_LINK + len(path) + len(target))
        self._targets[path] = target

    def add_hard_link(self, path: bytes, other: bytes) -> None:
        """Adds a second name of a file of the image, which may be a link. Raises as `add`."""
        target = self._targets.get(self.place_of(other)) if self._targets else None
        if target is None:
            self.remove(path)
        else:
            self.add(path, target)

    def remove(self, path: bytes) -> None:
        """Removes the link at `path`, if there is one: something else is there now."""
        if self._targets:
            self._targets.pop(b"/".join(_parts(path)), None)

    def place_of(self, path: bytes) -> bytes:
        """`path` after all links in its folders are followed; without a slash at its ends. Raises as `add`."""
        parts = _parts(path)
        return b"/".join([self.resolved(b"/".join(parts[:-1])), *parts[-1:]]).strip(b"/")

    def resolved(self, path: bytes) -> bytes:
        """`path` after all its links are followed, or as it is if they form a loop. Raises as `add`."""
        if not self._targets:
            return b"/".join(_parts(path))
        self._take(len(path))
        done, left, n_followed = b"", _parts(path)[::-1], 0
        while left:
            part = left.pop()
            if part == b"..":
                done = done.rpartition(b"/")[0]
                continue
            here = done + b"/" + part if done else part
            target = self._targets.get(here)
            if target is None:
                done = here
                continue
            n_followed += 1
            if n_followed > MAX_FOLLOWED:
                return b"/".join(_parts(path))
            self._take(len(target))
            done = b"" if target.startswith(b"/") else done
            left += _parts(target)[::-1]
        return done

    def _take(self, n_bytes: int) -> None:
        self.bytes_left -= n_bytes
        if self.bytes_left < 0:
            raise invalid("The image has too many links, or too long ones: use fewer.")


def _parts(path: bytes) -> list[bytes]:
    return [part for part in path.split(b"/") if part not in (b"", b".")]
