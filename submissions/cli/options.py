"""Options that several commands of `lambench-submit` have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CardFile = Annotated[Path | None, typer.Option(help="model card (default: ./lambench.toml if it exists)")]
Gpu = Annotated[str | None, typer.Option(help="UUID of the GPU to run on")]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
