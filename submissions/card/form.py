"""The model card asked for field by field, at a terminal: each may be skipped, and each is checked at once."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, get_args

from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from submissions.card.file import CardError, card_from_reference, card_text, first_complaint, read_card, write_card
from submissions.card.rules import SYMBOLS, first_breach
from submissions.records import Domain, ModelCard, Record, StatedLabelSet, TrainingSet

Stated = str | bool | int | tuple[str, ...] | tuple[TrainingSet, ...] | dict[Domain, StatedLabelSet]
CARD_FILE = Path("lambench.toml")
DRAFT = Path("lambench.toml.draft")
YES, NO = frozenset({"y", "yes", "true"}), frozenset({"n", "no", "false"})


def card_of(console: Console, given: Path | None, reference: str, ask: bool = True) -> ModelCard:
    """The card in `given`, else ./lambench.toml, else what is answered at a terminal, else a name alone.

    Args:
        reference: of the image, which the model is called by where nothing else is said.
        ask: whether somebody may be asked, if there is a terminal.

    Raises:
        CardError: the card cannot be used, or the questions were broken off.
    """
    if given is not None or CARD_FILE.exists():
        return read_card(given or CARD_FILE)
    named = card_from_reference(reference)
    if ask and console.is_terminal and sys.stdin.isatty():
        form = CardForm(console)
        card = form.fill(named.name)
        form.offer(card, CARD_FILE)
        return card
    console.print(f"No model card: ./{CARD_FILE} is not here, and none was given with --card. A card is fixed once")
    console.print(f"submitted; without one the model is called {escape(named.name)!r}, and states no level of theory.")
    return named


class Unfit(ValueError):
    """An answer that the field cannot take; the message says what it can."""


class Asked(NamedTuple):
    """A field, the question for it, and how its answer is read."""

    field: str
    question: str
    read: Callable[[str], Stated]


def _text(answer: str) -> str:
    return answer


def _list(answer: str) -> tuple[str, ...]:
    return tuple(part for part in (part.strip() for part in answer.split(",")) if part)


def _yes_or_no(answer: str) -> bool:
    if answer.lower() in YES | NO:
        return answer.lower() in YES
    raise Unfit("answer y or n, or nothing to leave it open")


def _count(answer: str) -> int:
    plain = re.sub(r"[ _,']", "", answer)
    if not re.fullmatch(r"[0-9]{1,15}", plain):
        raise Unfit("give a whole number, such as 4690000")
    return int(plain)


def _elements(answer: str) -> tuple[str, ...]:
    found = [part for part in re.split(r"[\s,;]+", answer) if part]
    if unknown := [part for part in found if part not in SYMBOLS]:
        raise Unfit(f"{unknown[0]!r} is no chemical symbol: give such as H C N O")
    return tuple(dict.fromkeys(found))


QUESTIONS = (
    Asked("name", "Name of the model", _text),
    Asked("version", "Version", _text),
    Asked("description", "A sentence about it", _text),
    Asked("authors", "Authors, with commas between them", _list),
    Asked("affiliation", "Affiliation", _text),
    Asked("paper", "Web address of the paper", _text),
    Asked("code", "Web address of the code", _text),
    Asked("license", "Licence of the weights, a name or an address", _text),
    Asked("open_weights", "May anybody have the weights? \\[y/n]", _yes_or_no),
    Asked("n_parameters", "Number of parameters", _count),
    Asked("elements", "Elements that it knows, such as H C N O", _elements),
    Asked("conservative", "Are forces the gradient of the energy? \\[y/n]", _yes_or_no),
    Asked("dispersion", "Do energies contain dispersion at all? \\[y/n]", _yes_or_no),
    Asked("precision", "Precision: float32, float64 or mixed", _text),
    Asked("hardware", "What hardware it was made for and needs", _text),
)


class CardForm:
    """Asks for a model card at a terminal.

    Whoever breaks it off finds what was answered in ./lambench.toml.draft.

    Args:
        console: where the questions appear.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stated: dict[str, Stated] = {}

    def fill(self, name: str) -> ModelCard:
        """The card as it was answered.

        Args:
            name: of the model, where none is given.

        Raises:
            CardError: it was broken off.
        """
        try:
            return self._fill(name)
        except (EOFError, KeyboardInterrupt):
            raise self._broken_off(name) from None

    def _fill(self, name: str) -> ModelCard:
        self._console.print("A card says what the model is, and is fixed once submitted. Enter leaves a field open.")
        self._stated = {"name": name}
        for asked in QUESTIONS:
            default = f" \\[{escape(name)}]" if asked.field == "name" else ""
            answer = self._field(asked, default)
            if answer is not None:
                self._stated[asked.field] = answer
        self._ask_training()
        self._ask_label_sets()
        return ModelCard.model_validate(self._stated)

    def offer(self, card: ModelCard, path: Path) -> None:
        """Shows the card as it would be written, and writes it to `path` if that is wanted.

        Raises:
            CardError: it cannot be written, or was broken off.
        """
        self._console.print(f"\n{card_text(card)}", markup=False, soft_wrap=True)
        try:
            wanted = self._ask(f"Write this to {escape(str(path))}? \\[Y/n]", _yes_or_no)
        except EOFError:  # nothing more will be said; the card itself is whole
            self._console.print()
            return
        except KeyboardInterrupt:
            raise self._broken_off(card.name) from None
        if wanted is not False:
            write_card(card, path)
            self._console.print(f"Written to {escape(str(path))}: edit it there, and it is read the next time.")

    def _field(self, asked: Asked, default: str) -> Stated | None:
        def read(answer: str) -> Stated:
            value = asked.read(answer)
            self._require_fit(asked.field, value)
            return value

        return self._ask(asked.question + default, read)

    def _ask_training(self) -> None:
        """Asks for the data sets that it was trained on, until one is left open."""
        sets: tuple[TrainingSet, ...] = ()
        while len(sets) < 100:
            n = len(sets) + 1
            question = f"Training set {n}: its name, or Enter for no {'more' if sets else 'training set'}"
            name = self._ask(question, _is_training_set)
            if name is None:
                return
            level = self._ask("  its level of theory, such as PBE+U", _is_level)
            url = self._ask("  its web address", _is_address)
            more = (*sets, TrainingSet(name=str(name), level_of_theory=str(level or ""), url=str(url or "")))
            if self._keep("training", more):
                sets = more

    def _ask_label_sets(self) -> None:
        self._console.print("For each domain: which level of theory do the energies belong to? Such as PBE, ωB97M-V.")
        declared: dict[Domain, StatedLabelSet] = {}
        for domain in get_args(Domain):
            question = f"{domain}: level of theory, or Enter to declare none"
            while (name := self._ask(question, _is_label_set)) is not None:
                within = self._ask("  is dispersion in these energies? \\[y/n]", _yes_or_no)
                labels = StatedLabelSet(name=str(name), dispersion=within if isinstance(within, bool) else None)
                if self._keep("label_sets", {**declared, domain: labels}):
                    declared[domain] = labels
                    break

    def _keep(self, field: str, value: Stated) -> bool:
        """Whether the card can say so: then it does."""
        try:
            self._require_fit(field, value)
        except Unfit as unfit:
            self._complain(str(unfit))
            return False
        self._stated[field] = value
        return True

    def _require_fit(self, field: str, value: Stated) -> None:
        """Returns where a card that says what was answered so far can say this too.

        Raises:
            Unfit: it cannot.
        """
        try:
            card = ModelCard.model_validate({**self._stated, field: value})
        except ValidationError as error:
            raise Unfit(first_complaint(error)) from error
        if breach := first_breach(card):
            raise Unfit(breach)

    def _broken_off(self, name: str) -> CardError:
        """Why there is no card, once what was answered is kept."""
        self._console.print()
        unfinished = "the card was not finished"
        if self._stated in ({}, {"name": name}):
            return CardError(f"{unfinished}: write ./{CARD_FILE}, or give one with --card")
        write_card(ModelCard.model_validate(self._stated), DRAFT)
        return CardError(f"{unfinished}: what was answered is in ./{DRAFT}; go on there, and call it {CARD_FILE}")

    def _ask(self, question: str, read: Callable[[str], Stated]) -> Stated | None:
        """What was answered, asked again until it fits; None for nothing."""
        while True:
            answer = self._console.input(f"[bold]{question}[/]: ").strip()
            if not answer:
                return None
            try:
                return read(answer)
            except Unfit as unfit:
                self._complain(str(unfit))

    def _complain(self, text: str) -> None:
        self._console.print(f"  [yellow]![/] {escape(text)}")


def _field_of(record: type[Record], field: str, **others: str) -> Callable[[str], str]:
    """Reads an answer as a text field of `record`."""

    def read(answer: str) -> str:
        try:
            record.model_validate({**others, field: answer})
        except ValidationError as error:
            raise Unfit(first_complaint(error)) from error
        return answer

    return read


_is_training_set = _field_of(TrainingSet, "name")
_is_level = _field_of(TrainingSet, "level_of_theory", name="one")
_is_address = _field_of(TrainingSet, "url", name="one")
_is_label_set = _field_of(StatedLabelSet, "name")
