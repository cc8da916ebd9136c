"""Long extended XYZ files of small crystals, written fast, with the same bytes on every machine."""

from __future__ import annotations

from pathlib import Path

SYMBOLS = ("Cu", "Ag", "Al", "Pt")
CORNERS = ((0.0, 0.0, 0.0), (0.0, 2.0, 2.0), (2.0, 0.0, 2.0), (2.0, 2.0, 0.0))


def write_long_file(path: Path, n: int) -> None:
    """Writes `n` cells of four atoms with energy, forces and stress: 0.4 MB for each 1,000."""
    with path.open("w") as file:
        for start in range(0, n, 1000):
            file.writelines(map(_frame, range(start, min(start + 1000, n))))


def _frame(i: int) -> str:
    side, force = 3.9 + 0.0001 * (i % 2003), 0.001 * (i % 1009)
    symbol, stress = SYMBOLS[i % 4], f"{0.00001 * (i % 997):.8f}"
    rows = "".join(
        f"{symbol} {x + 0.0001 * (i % 31):.8f} {y:.8f} {z:.8f} {sign * force:.8f} 0.00000000 {-sign * force:.8f}\n"
        for sign, (x, y, z) in zip((1, -1, 1, -1), CORNERS, strict=True)
    )
    return (
        f'4\nLattice="{side:.6f} 0.0 0.0 0.0 {side:.6f} 0.0 0.0 0.0 {side:.6f}" '
        f"Properties=species:S:1:pos:R:3:forces:R:3 energy={-14.0 - 0.001 * (i % 503):.6f} run=md-{i // 50} "
        f'stress="{stress} 0 0 0 {stress} 0 0 0 {stress}" pbc="T T T"\n{rows}'
    )
