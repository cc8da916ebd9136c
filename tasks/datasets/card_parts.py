"""What the parts of a card and of a table have in common."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Index = Annotated[int, Field(ge=0)]


class CardPart(BaseModel):
    """A part of a file that states a data set or a suite: frozen; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def later(default: Any, **limits: Any) -> Any:
    """A field that data sets made before do not have: it is not stored while it has its default.

    So they keep their bytes.
    """
    return Field(default, exclude_if=lambda value: value == default, **limits)


class TableItem(CardPart):
    """An item of a table, with the group under which it is reported; items of one cluster are correlated."""

    id: str = Field(min_length=1)
    group: str = ""
    cluster: str = ""
