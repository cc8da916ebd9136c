"""The model card: written and read back it is the same, and a terminal asks for it field by field."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from submissions.card.file import CardError, card_text, read_card
from submissions.card.form import CARD_FILE, DRAFT, QUESTIONS, CardForm
from submissions.records import Domain, ModelCard, StatedLabelSet, TrainingSet

ROOT = Path(__file__).parents[3]
DEADLINE_S = 60.0


def texts(most: int, least: int = 0) -> st.SearchStrategy[str]:
    return st.text(min_size=least, max_size=most)


ADDRESSES = st.one_of(st.just(""), texts(60).map(lambda text: f"https://{text}"))
FLAGS = st.none() | st.booleans()
CARDS = st.builds(
    ModelCard,
    name=texts(40, 1),
    version=texts(20),
    description=texts(80),
    authors=st.lists(texts(40), max_size=8).map(tuple),
    affiliation=texts(40),
    license=texts(40),
    paper=ADDRESSES,
    code=ADDRESSES,
    open_weights=FLAGS,
    n_parameters=st.none() | st.integers(0, 10**15),
    conservative=FLAGS,
    dispersion=FLAGS,
    precision=st.sampled_from(["", "float32", "float64", "mixed"]),
    elements=st.lists(texts(3), max_size=120).map(tuple),
    training=st.lists(
        st.builds(TrainingSet, name=texts(40, 1), level_of_theory=texts(40), url=ADDRESSES), max_size=4
    ).map(tuple),
    hardware=texts(40),
    label_sets=st.dictionaries(
        st.sampled_from(get_args(Domain)), st.builds(StatedLabelSet, name=texts(40, 1), dispersion=FLAGS)
    ),
)


@given(CARDS)
def test_a_card_written_and_read_is_the_same(card: ModelCard) -> None:
    assert ModelCard.model_validate(tomllib.loads(card_text(card))) == card


def test_an_empty_card_names_every_field_and_its_comments_are_a_card_too() -> None:
    text = card_text(ModelCard(name="empty"))
    for field in ModelCard.model_fields:
        assert f"{field} = " in text or f"[{field}]" in text or f'[{field}."' in text, field
    lines = [line.removeprefix("# ") for line in text.splitlines()]
    fields = [line for line in lines if " = " in line or line.startswith("[")]
    read = ModelCard.model_validate(tomllib.loads("\n".join(fields)))
    assert all(getattr(read, field) not in (None, "", (), {}) for field in ModelCard.model_fields)


def test_the_form_asks_for_every_field() -> None:
    fields = {question.field for question in QUESTIONS} | {"training", "label_sets"}
    assert fields == set(ModelCard.model_fields)


class Terminal:
    """A command with its own terminal."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self._ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "dumb", "LAMBENCH_RUN_DIR": str(folder.parent / "run")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "submissions.cli.main", *arguments],
            cwd=folder,
            env={**environment, "PYTHONPATH": str(ROOT)},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""
        self._announced = 0

    def until(self, words: str) -> str:
        """The output since the last call, once it contains `words`."""
        deadline = time.monotonic() + DEADLINE_S
        while words not in self.seen[self._announced :]:
            left = deadline - time.monotonic()
            assert left > 0, f"{words!r} did not come: {self.seen[-2000:]}"
            if select.select([self._ours], [], [], left)[0]:
                try:
                    data = os.read(self._ours, 65536)
                except OSError:  # a terminal that nobody holds any more
                    data = b""
                assert data, f"ended before {words!r}: {self.seen[-2000:]}"
                self.seen += data.decode("utf-8", "replace")
        begin, self._announced = self._announced, self.seen.index(words, self._announced) + len(words)
        return self.seen[begin : self._announced]

    def answer(self, question: str, answer: str) -> None:
        """Types `answer` once `question` is shown."""
        self.until(question)
        os.write(self._ours, f"{answer}\n".encode())

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A submission's folder, by a path that is short enough for a socket beside it."""
    with tempfile.TemporaryDirectory(prefix="lambench-") as place:
        made = Path(place) / "my-model"
        made.mkdir()
        yield made


@pytest.fixture
def terminal(folder: Path) -> Iterator[Terminal]:
    (folder / "calculator.py").write_text("def make_calculator():\n    raise ValueError('no weights')\n")
    arguments = ["submit", ".", "--driver", "process", "--check-only", "--python", sys.executable]
    opened = Terminal([*arguments, "--calculator", "calculator:make_calculator"], folder)
    yield opened
    opened.close()


def test_a_terminal_is_asked_each_field_is_checked_at_once_and_the_card_is_written(
    terminal: Terminal, folder: Path
) -> None:
    terminal.answer("Name of the model", "Effective medium")
    terminal.answer("Version", "")
    terminal.answer("A sentence", 'with "quotes" and [red]brackets[/]')
    terminal.answer("Authors", "Jens K. Nørskov, Karsten W. Jacobsen")
    terminal.answer("Affiliation", "")
    terminal.answer("paper", "10.1016/0039")
    terminal.answer("must be a web address", "https://doi.org/10.1016/0039-6028(96)00816-3")
    terminal.answer("the code", "")
    terminal.answer("Licence", "LGPL")
    terminal.answer("anybody have", "perhaps")
    terminal.answer("answer y or n", "y")
    terminal.answer("Number of parameters", "many")
    terminal.answer("give a whole number", "1 234")
    terminal.answer("Elements", "Cu Xx")
    terminal.answer("'Xx' is no chemical symbol", "Cu, Pt Cu")
    terminal.answer("gradient", "y")
    terminal.answer("dispersion at all", "n")
    terminal.answer("Precision", "float16")
    terminal.answer("precision:", "float64")
    terminal.answer("Hardware", "")
    terminal.answer("Training set 1", "none that is public")
    terminal.answer("its level of theory", "")
    terminal.answer("its web address", "")
    terminal.answer("Training set 2", "")
    terminal.answer("Inorganic Materials: level", "EMT")
    terminal.answer("is dispersion in these", "n")
    terminal.answer("Molecules: level", "")
    terminal.answer("Catalysis: level", "")
    terminal.answer("Write this to lambench.toml?", "")
    terminal.until("was not submitted")
    terminal.until("no weights")
    assert terminal.process.wait(DEADLINE_S) == 1
    assert read_card(folder / "lambench.toml") == ModelCard(
        name="Effective medium",
        description='with "quotes" and [red]brackets[/]',
        authors=("Jens K. Nørskov", "Karsten W. Jacobsen"),
        license="LGPL",
        paper="https://doi.org/10.1016/0039-6028(96)00816-3",
        open_weights=True,
        n_parameters=1234,
        conservative=True,
        dispersion=False,
        precision="float64",
        elements=("Cu", "Pt"),
        training=(TrainingSet(name="none that is public"),),
        label_sets={"Inorganic Materials": StatedLabelSet(name="EMT", dispersion=False)},
    )


class Keys(StringIO):
    """What is typed, and after the last line Ctrl-D, or Ctrl-C."""

    def __init__(self, lines: Sequence[str], interrupts: bool) -> None:
        super().__init__("".join(f"{line}\n" for line in lines))
        self._interrupts = interrupts

    def readline(self, size: int | None = -1) -> str:
        line = super().readline(-1 if size is None else size)
        if not line and self._interrupts:
            raise KeyboardInterrupt
        return line


N_FIELDS = len(QUESTIONS)
ANSWERS = ["Mine", "2", *[""] * (N_FIELDS - 2), "MPtrj", "PBE+U", "", "", "PBE", "n", "", ""]  # up to the offer


class FormInput(NamedTuple):
    """A folder in which the form is filled in with keys that are pressed."""

    patch: pytest.MonkeyPatch

    def fill(self, *lines: str, interrupts: bool = False) -> ModelCard:
        console = Console(file=StringIO())
        self.patch.setattr(sys, "stdin", Keys(lines, interrupts))
        form = CardForm(console)
        card = form.fill("my-model")
        form.offer(card, CARD_FILE)
        return card


@pytest.fixture
def form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FormInput:
    monkeypatch.chdir(tmp_path)
    return FormInput(monkeypatch)


@pytest.mark.parametrize("interrupts", [False, True])
def test_who_breaks_off_before_the_first_answer_leaves_nothing(form: FormInput, interrupts: bool) -> None:
    with pytest.raises(CardError, match=r"the card was not finished: write \./lambench\.toml"):
        form.fill(interrupts=interrupts)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("interrupts", [False, True])
@pytest.mark.parametrize("n", [1, 5, N_FIELDS + 2, N_FIELDS + 6])
def test_who_breaks_off_finds_the_answers_in_a_draft(form: FormInput, n: int, interrupts: bool) -> None:
    with pytest.raises(CardError, match=r"your answers are in \./lambench\.toml\.draft"):
        form.fill(*ANSWERS[:n], interrupts=interrupts)
    assert list(Path().iterdir()) == [DRAFT]
    card = read_card(DRAFT)
    assert card.name == "Mine"
    assert card.version == ("2" if n > 1 else "")
    assert [training.name for training in card.training] == (["MPtrj"] if n > N_FIELDS + 3 else [])
    assert bool(card.label_sets) == (n >= N_FIELDS + 6)


def test_the_end_of_the_input_at_the_offer_is_a_no_and_the_card_is_whole(form: FormInput) -> None:
    card = form.fill(*ANSWERS)
    assert card.label_sets["Inorganic Materials"] == StatedLabelSet(name="PBE", dispersion=False)
    assert list(Path().iterdir()) == []
    with pytest.raises(CardError, match="draft"):
        form.fill(*ANSWERS, interrupts=True)
    assert read_card(DRAFT) == card


def test_a_card_that_cannot_be_written_is_one_line_and_leaves_the_old_one(form: FormInput) -> None:
    CARD_FILE.mkdir()
    with pytest.raises(CardError, match=r"^lambench\.toml: cannot be written \("):
        form.fill(*ANSWERS, "y")
    assert list(Path().iterdir()) == [CARD_FILE]


def test_what_no_card_may_say_is_asked_again(form: FormInput) -> None:
    before = [""] * (N_FIELDS - 3)
    card = form.fill(
        "a\tb", "Mine", *before[1:], "n", "", "", "", "", "PBE0-D3", "y", "PBE0", "n", "", "n"
    )  # a tab in a name; energies without dispersion, and a label set with it
    assert card.name == "Mine"
    assert card.dispersion is False
    assert card.label_sets == {"Molecules": StatedLabelSet(name="PBE0", dispersion=False)}
