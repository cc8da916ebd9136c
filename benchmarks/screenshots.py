"""Pictures of each kind of page, narrow and wide, light and dark: `python -m benchmarks.screenshots SITE --out DIR`.

`make demo` writes the site for docs/screenshots to var/site. Numbers that others published are in the suite
`diatomics`: a site of it, with CHGNet, has `reproduced.html`.
"""

from __future__ import annotations

import argparse
import io
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from judge.publishing.local_server import LOOPBACK, site_server

WIDTHS = {400: 1100, 1280: 900, 2560: 1500}
"""The height of the window by its width, in CSS pixels."""
MAIN = ("leaderboard", "figures", "compare", "model", "task")
OTHERS = ("domains", "schemes", "firmness", "ml-peg", "reproduced", "changes", "how", "submit")
WIDEST = max(WIDTHS)  # for the main pages alone
COLOURS = 224  # of a picture: few colours give small files
LARGEST = 1280  # pixels: wider pictures are scaled down to this width


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path, help="folder of the pages")
    parser.add_argument("--out", type=Path, required=True, help="folder of the pictures")
    parser.add_argument("--only", nargs="*", help="names of pages, such as reproduced; all if left out")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with _served(options.site) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, page in pages(options.site).items():
            for width, height in WIDTHS.items():
                if (width == WIDEST and name not in MAIN) or name not in (options.only or [name]):
                    continue
                for scheme in ("light", "dark"):
                    path = options.out / f"{name}-{width}-{scheme}.png"
                    path.write_bytes(_picture(browser, f"{url}/{page}", width, height, scheme))
                    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
        browser.close()


def pages(site: Path) -> dict[str, str]:
    """Each kind of page that the site has, by the name of its picture; of models and tasks, the first page by name."""
    paths = {"leaderboard": "index.html", "figures": "figures.html", "compare": "compare.html"}
    for name, folder in (("model", "submissions"), ("task", "tasks")):
        first = min((site / folder).glob("*.html"), default=None)
        if first is not None:
            paths[name] = first.relative_to(site).as_posix()
    others = {name: path for name in OTHERS if (site / (path := f"{name}.html")).is_file()}
    return paths | others | {"404": "no-such-page.html"}


def _picture(browser: Browser, url: str, width: int, height: int, scheme: str) -> bytes:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(url)
    page.wait_for_load_state("networkidle")
    taken = Image.open(io.BytesIO(page.screenshot()))
    page.close()
    if taken.width > LARGEST:
        taken = taken.resize((LARGEST, taken.height * LARGEST // taken.width), Image.Resampling.LANCZOS)
    packed = io.BytesIO()
    taken.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(packed, "PNG", optimize=True)
    return packed.getvalue()


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    server = site_server(folder, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{LOOPBACK}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    main()
