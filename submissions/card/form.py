"""Asks for the model card in a terminal, field by field. Each can be left out, and each answer is checked at once."""

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

CardValue = str | bool | int | tuple[str, ...] | tuple[TrainingSet, ...] | dict[Domain, StatedLabelSet]
CARD_FILE = Path("lambench.toml")
DRAFT = Path("lambench.toml.draft")
YES, NO = frozenset({"y", "yes", "true"}), frozenset({"n", "no", "false"})


def card_of(console: Console, given: Path | None, reference: str, ask: bool = True) -> ModelCard:
    """The card in `given`, or in ./lambench.toml, or from answers in a terminal, or one with only a name.

    Args:
        reference: of the image, which gives the model's name if nothing else does.
        ask: whether to ask, if there is a terminal.

    Raises:
        CardError: the card cannot be used, or the questions were interrupted.
    """
    if given is not None or CARD_FILE.exists():
        return read_card(given or CARD_FILE)
    named = card_from_reference(reference)
    if ask and console.is_terminal and sys.stdin.isatty():
        form = CardForm(console)
        card = form.fill(named.name)
        form.offer(card, CARD_FILE)
        return card
    console.print(
        f"No model card: there is no ./{CARD_FILE}, and none was given with --card. A card is fixed once it is"
    )
    console.print(
        f"submitted. Without one the model's name is {escape(named.name)!r}, and it states no level of theory."
    )
    return named


class AnswerError(ValueError):
    """The field cannot have this answer; the message says what it can have."""


class CardQuestion(NamedTuple):
    """A question for a field of the card.

    Args:
        read: makes the field's value from the answer.
    """

    field: str
    text: str
    read: Callable[[str], CardValue]


def _text(answer: str) -> str:
    return answer


def _list(answer: str) -> tuple[str, ...]:
    return tuple(part for part in (part.strip() for part in answer.split(",")) if part)


def _yes_or_no(answer: str) -> bool:
    if answer.lower() in YES | NO:
        return answer.lower() in YES
    raise AnswerError("answer y or n, or press Enter to leave it out")


def _count(answer: str) -> int:
    plain = re.sub(r"[ _,']", "", answer)
    if not re.fullmatch(r"[0-9]{1,15}", plain):
        raise AnswerError("give a whole number, such as 4690000")
    return int(plain)


def _elements(answer: str) -> tuple[str, ...]:
    symbols = [part for part in re.split(r"[\s,;]+", answer) if part]
    if unknown := [symbol for symbol in symbols if symbol not in SYMBOLS]:
        raise AnswerError(f"{unknown[0]!r} is no chemical symbol: give such as H C N O")
    return tuple(dict.fromkeys(symbols))


QUESTIONS = (
    CardQuestion("name", "Name of the model", _text),
    CardQuestion("version", "Version", _text),
    CardQuestion("description", "A sentence about it", _text),
    CardQuestion("authors", "Authors, with commas between them", _list),
    CardQuestion("affiliation", "Affiliation", _text),
    CardQuestion("paper", "Web address of the paper", _text),
    CardQuestion("code", "Web address of the code", _text),
    CardQuestion("license", "Licence of the weights, a name or an address", _text),
    CardQuestion("open_weights", "May anybody have the weights? \\[y/n]", _yes_or_no),
    CardQuestion("n_parameters", "Number of parameters", _count),
    CardQuestion("elements", "Elements that the model knows, such as H C N O", _elements),
    CardQuestion("conservative", "Are forces the gradient of the energy? \\[y/n]", _yes_or_no),
    CardQuestion("dispersion", "Do energies contain dispersion at all? \\[y/n]", _yes_or_no),
    CardQuestion("precision", "Precision: float32, float64 or mixed", _text),
    CardQuestion("hardware", "Hardware that the model was made for and needs", _text),
)


class CardForm:
    """Asks for a model card in a terminal. If it is interrupted, the answers are in ./lambench.toml.draft.

    Args:
        console: where the questions appear.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stated: dict[str, CardValue] = {}

    def fill(self, name: str) -> ModelCard:
        """The card made from the answers.

        Args:
            name: of the model, if no other is given.

        Raises:
            CardError: the questions were interrupted.
        """
        try:
            return self._fill(name)
        except (EOFError, KeyboardInterrupt):
            raise self._interrupted(name) from None

    def _fill(self, name: str) -> ModelCard:
        self._console.print(
            "A card says what the model is, and is fixed once it is submitted. Press Enter to leave a field out."
        )
        self._stated = {"name": name}
        for question in QUESTIONS:
            default = f" \\[{escape(name)}]" if question.field == "name" else ""
            answer = self._field(question, default)
            if answer is not None:
                self._stated[question.field] = answer
        self._ask_training()
        self._ask_label_sets()
        return ModelCard.model_validate(self._stated)

    def offer(self, card: ModelCard, path: Path) -> None:
        """Shows the card, and writes it to `path` if the author wants that.

        Raises:
            CardError: it cannot be written, or the question was interrupted.
        """
        self._console.print(f"\n{card_text(card)}", markup=False, soft_wrap=True)
        try:
            wanted = self._ask(f"Write this to {escape(str(path))}? \\[Y/n]", _yes_or_no)
        except EOFError:  # no answer will come; the card itself is complete
            self._console.print()
            return
        except KeyboardInterrupt:
            raise self._interrupted(card.name) from None
        if wanted is not False:
            write_card(card, path)
            self._console.print(f"Written to {escape(str(path))}: edit it there; it is read the next time.")

    def _field(self, question: CardQuestion, default: str) -> CardValue | None:
        def read(answer: str) -> CardValue:
            value = question.read(answer)
            self._require_allowed(question.field, value)
            return value

        return self._ask(question.text + default, read)

    def _ask_training(self) -> None:
        """Asks for the training sets, until no name is given."""
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
        self._console.print("For each domain: at which level of theory are the energies? Such as PBE, ωB97M-V.")
        declared: dict[Domain, StatedLabelSet] = {}
        for domain in get_args(Domain):
            question = f"{domain}: level of theory, or Enter to declare none"
            while (name := self._ask(question, _is_label_set)) is not None:
                within = self._ask("  is dispersion in these energies? \\[y/n]", _yes_or_no)
                labels = StatedLabelSet(name=str(name), dispersion=within if isinstance(within, bool) else None)
                if self._keep("label_sets", {**declared, domain: labels}):
                    declared[domain] = labels
                    break

    def _keep(self, field: str, value: CardValue) -> bool:
        """True if the card may have this value; then it is set."""
        try:
            self._require_allowed(field, value)
        except AnswerError as error:
            self._complain(str(error))
            return False
        self._stated[field] = value
        return True

    def _require_allowed(self, field: str, value: CardValue) -> None:
        """Returns if the card with all answers so far may have this value too.

        Raises:
            AnswerError: it may not.
        """
        try:
            card = ModelCard.model_validate({**self._stated, field: value})
        except ValidationError as error:
            raise AnswerError(first_complaint(error)) from error
        if breach := first_breach(card):
            raise AnswerError(breach)

    def _interrupted(self, name: str) -> CardError:
        """Stores the answers so far; the error that says where they are."""
        self._console.print()
        unfinished = "the card was not finished"
        if self._stated in ({}, {"name": name}):
            return CardError(f"{unfinished}: write ./{CARD_FILE}, or give one with --card")
        write_card(ModelCard.model_validate(self._stated), DRAFT)
        return CardError(f"{unfinished}: your answers are in ./{DRAFT}; complete it, and rename it to {CARD_FILE}")

    def _ask(self, question: str, read: Callable[[str], CardValue]) -> CardValue | None:
        """The answer; the question is repeated until the answer is allowed. None for no answer."""
        while True:
            answer = self._console.input(f"[bold]{question}[/]: ").strip()
            if not answer:
                return None
            try:
                return read(answer)
            except AnswerError as error:
                self._complain(str(error))

    def _complain(self, text: str) -> None:
        self._console.print(f"  [yellow]![/] {escape(text)}")


def _field_of(record: type[Record], field: str, **others: str) -> Callable[[str], str]:
    """A function that reads an answer as a text field of `record`."""

    def read(answer: str) -> str:
        try:
            record.model_validate({**others, field: answer})
        except ValidationError as error:
            raise AnswerError(first_complaint(error)) from error
        return answer

    return read


_is_training_set = _field_of(TrainingSet, "name")
_is_level = _field_of(TrainingSet, "level_of_theory", name="one")
_is_address = _field_of(TrainingSet, "url", name="one")
_is_label_set = _field_of(StatedLabelSet, "name")
