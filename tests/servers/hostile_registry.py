"""A registry on loopback that serves images by hand: their layers byte by byte, with false sizes, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

from tests.world.small_images import MadeImage, manifest_of, sha256


class HostileRegistry:
    """Images by the digest of their manifests, and what is answered to requests for their layers.

    Args:
        host: as in image references.
        paths: that were requested.
        blobs: that are served, by digest.
        over: set it, and the answers that are being sent end.
    """

    def __init__(self, host: str, over: Event) -> None:
        self.host = host
        self.over = over
        self.paths: list[str] = []
        self.blobs: dict[str, bytes] = {}

    def honest(self, made: MadeImage) -> str:
        """The reference of an image that is served as it is."""
        manifest = made.manifest()
        self.blobs |= {sha256(data): data for data in (manifest, made.config, *made.blobs())}
        return f"{self.host}/eve/model@{sha256(manifest)}"

    def image(self, made: MadeImage, stated_bytes: int = 3_000_000) -> str:
        """The reference of an image whose layers state that size and are never served."""
        layers = [{"digest": sha256(tar + b"packed"), "size": stated_bytes} for tar in made.tars]
        manifest = manifest_of({"digest": made.id, "size": len(made.config)}, layers)
        self.blobs |= {sha256(manifest): manifest, made.id: made.config}
        return f"{self.host}/eve/model@{sha256(manifest)}"


@contextmanager
def hostile_registry(
    byte_every_s: float | None, *, all_slow: bool = False, waits_s: float = 0.0
) -> Iterator[HostileRegistry]:
    """A registry that sends one byte of a layer in each such time [s]; None: it answers that it is broken.

    Args:
        all_slow: it sends manifests and configurations like layers.
        waits_s: before it sends a manifest [s].
    """
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.paths.append(self.path)
            data = None if all_slow else registry.blobs.get(self.path.rpartition("/")[2])
            if "/manifests/" in self.path:
                over.wait(waits_s)
            if data is None and byte_every_s is None:
                self.send_error(500)
                return
            self.send_response(200)
            self.end_headers()
            if data is not None:
                self.wfile.write(data)
            with suppress(OSError):  # the judge has gone
                while data is None and not over.wait(byte_every_s):
                    self.wfile.write(b"x")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    registry = HostileRegistry(f"127.0.0.1:{server.server_address[1]}", over)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join()
