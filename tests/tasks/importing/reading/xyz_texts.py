"""Texts of extended XYZ as programs and people write them: plain ones, odd ones and wrong ones.

They are drawn by `random.Random`: drawn cell by cell by hypothesis, a text would take longer than reading it.
"""

from __future__ import annotations

from random import Random

NUMBERS = ["0", "1", "-1", "2.5", "-0.25", "1e-3", "1E2", ".5", "3.", "+4", "-0.0", "0.1", "1.0000000000000002"]
ODD_NUMBERS = ["nan", "inf", "-Infinity", "1_0", "1d3", "x", "1e999", "٣", "9007199254740993", "99999999999999999999"]
WORDS = [
    "a",
    "bulk",
    "mp-12",
    "12",
    "-7",
    "012",
    "1e3",
    "1.50",
    "T",
    "True",
    "false",
    "3fa4",
    "0x10",
    "nan",
    "inf",
    "é",
]
ODD_WORDS = [
    '"two words"',
    '"T F"',
    '"1 2"',
    "1,2",
    "'one'",
    "{x y}",
    "[1 2]",
    r"a\ b",
    '""',
    '"_JSON [1]"',
    "1_0",
    "a=b",
]
COLUMNS = {
    "species:S:1": ["H", "he", "CU", "O"],
    "pos:R:3": NUMBERS,
    "Z:I:1": ["1", "8", "29"],
    "forces:R:3": NUMBERS,
    "magmoms:R:1": NUMBERS,
    "initial_magmoms:R:1": NUMBERS,
    "initial_charges:R:1": NUMBERS,
    "charge:R:1": NUMBERS,
    "tags:I:1": ["0", "3", "-2"],
    "velo:R:3": NUMBERS,
    "fixed:L:1": ["T", "F", "True", "yes"],
    "site:S:1": ["x", "1", "T"],
}
ODD_COLUMNS = {
    "pos:I:3": ["0", "1"],
    "forces:R:1": NUMBERS,
    "energy:R:1": NUMBERS,
    "move_mask:L:1": ["T", "F"],
    "pos0:R:1": NUMBERS,
    "tags:I:2": ["1", "1.5"],
    "wrong:Q:1": ["1"],
    "masses:R:1": ["1.0"],
    "X:R:1": ODD_NUMBERS,
    "species:S:1": ["X", "Xx", "12"],
    "Z:I:1": ["0", "119", "-1", "1.0"],
}
CUBE = "4 0 0 0 4 0 0 0 4"
PBC = ['"T T T"', '"F F F"', '"T T F"', '"1 1 1"', "T", '"true FALSE True"', '"T T"']
LATTICES = [
    f'"{CUBE}"',
    '"4.5 0.0 0.1 1e-1 4 0 0 0 .5"',
    '" 4  0 0 0 4 0 0 0 4 "',
    '"4 4 4"',
    f'"{CUBE} 1"',
    "4",
    '"nan 0 0 0 1 0 0 0 1"',
]


# By key, likely values and odd ones.
FIELDS: dict[str, tuple[list[str], list[str]]] = {
    "energy": (["-1.5", "3", "1e2"], [*ODD_NUMBERS, "T", '"1 2"', '""']),
    "free_energy": (NUMBERS, ODD_NUMBERS),
    "charge": (["0", "1", "-1", "2.0"], ["0.5", "T", "abc", '"1 1"', "1e7"]),
    "spin": (["1", "2"], ["x", "1.5"]),
    "multiplicity": (["1", "3"], ["-1", "T"]),
    "name": (WORDS, ODD_WORDS),
    "group": (WORDS, ODD_WORDS),
    "run": (WORDS, ODD_WORDS),
    "config_type": (WORDS, ODD_WORDS),
    "step": (NUMBERS, ODD_NUMBERS),
    "uid": (WORDS, ODD_WORDS),
    "dipole": (['"1 2 3"'], ["x", "T"]),
    "Lattice": (LATTICES[:3], LATTICES[3:]),
    "pbc": (PBC[:3], PBC[3:]),
}
ODD_FIELDS = [
    "converged",
    "energy",
    "a.b=1",
    "3",
    "k = v",
    '"quoted key"=1',
    "name=twice name=twice",
    "=",
    "tags=1",
    "é=1",
]
ODD_ENDS = ["", "VEC1 1 0 0", "no number", "5", "1\n\nH 0 0 0", "\nH 0 0 0"]


class XyzWriter:
    """Writes extended XYZ files.

    Args:
        seed: of all choices.
        always: key of a field that most frames have; empty: none.
    """

    def __init__(self, seed: int, always: str = "") -> None:
        self._always = always
        self._random = Random(seed)
        self._odd = self._random.choice([0.0, 0.0, 0.003, 0.03])

    def file(self) -> bytes:
        """Frames of one or two forms, with one sort of line ends."""
        frames = [lines for _ in range(self._random.randint(1, 2)) for lines in self._frames()]
        self._random.shuffle(frames)
        if self._rarely():
            frames[-1].append(self._random.choice(ODD_ENDS))
        if self._rarely():
            frames[-1].pop()
        text = "".join(f"{line}\n" for lines in frames for line in lines)
        if self._random.random() < 0.5:
            text = text.removesuffix("\n")
        return text.replace("\n", self._random.choice(["\n", "\r\n", "\r"])).encode()

    def _rarely(self) -> bool:
        return self._random.random() < 10 * self._odd

    def _one(self, likely: list[str], odd: list[str]) -> str:
        return self._random.choice(odd if self._random.random() < self._odd else likely)

    def _fields(self, share: float) -> dict[str, str]:
        chosen = {key for key in [*FIELDS, "stress", "virial"] if self._random.random() < share}
        if self._always and not self._rarely():
            chosen.add(self._always)
        fields = {key: self._one(*FIELDS[key]) for key in chosen & FIELDS.keys()}
        for key in chosen - FIELDS.keys():
            fields[key] = '"{}"'.format(" ".join(self._one(NUMBERS, ODD_NUMBERS) for _ in range(9)))
        if fields.keys() & {"stress", "pbc"} and not self._rarely():
            fields["Lattice"] = self._one(LATTICES[:3], LATTICES[3:])
        if "stress" in fields and not self._rarely():
            fields["pbc"] = '"T T T"'
        return fields

    def _frames(self) -> list[list[str]]:
        """The lines of some frames of one form."""
        names = ["species:S:1", "pos:R:3", *self._random.sample(list(COLUMNS)[2:], self._random.randint(0, 3))]
        if self._random.random() < 0.1:
            names = names[:2]
        self._random.shuffle(names)
        columns = {name: COLUMNS[name] for name in names}
        if self._rarely():
            name = self._random.choice(list(ODD_COLUMNS))
            columns[name] = ODD_COLUMNS[name]
        properties = "Properties=" + self._one([":".join(columns)], [f'"{":".join(columns)}"', ":".join(columns) + ":"])
        keys = list(self._fields(0.3))
        parts = self._random.choice(
            [[properties], [properties], [properties], [] if names == ["species:S:1", "pos:R:3"] else [properties]]
        )
        frames = []
        for _ in range(self._random.randint(1, 4)):
            values = {**self._fields(1.0)}
            stated = parts + [f"{key}={values[key]}" for key in keys]
            if self._rarely():
                stated.append(self._random.choice(ODD_FIELDS))
            if self._rarely():
                self._random.shuffle(stated)
            n_atoms = self._random.randint(1, 3)
            frames.append([str(n_atoms), " ".join(stated), *(self._row(columns) for _ in range(n_atoms))])
        return frames

    def _row(self, columns: dict[str, list[str]]) -> str:
        cells = [
            self._one(values, ODD_NUMBERS)
            for name, values in columns.items()
            for _ in range(int(name.rpartition(":")[2]))
        ]
        return self._random.choice([" ", "  ", "\t"]).join(cells) + self._one([""], [" ", " extra"])
