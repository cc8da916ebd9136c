"""Changes to a published store, and the defects that `judge verify --all` reports of it."""

from __future__ import annotations

from judge.records.attempts import read_histories
from judge.records.items_file import pack_items, unpack_items
from judge.records.signing import SigningKey
from submissions.records import Record
from tests.world.judged import result_key, submission_of
from tests.world.world import World

STRANGER = SigningKey(bytes(32))


def defects(world: World, *arguments: str, status: int = 1) -> list[tuple[str, str]]:
    """The defects with their reasons, in the order of the report."""
    ended, answer = world.run_json_here("verify", "--all", *arguments)
    assert isinstance(answer, dict)
    assert (ended, answer["exit_status"]) == (status, status)
    return [(row["what"], row["why"]) for row in answer["broken"]]


def write(world: World, key: str, record: Record) -> None:
    world.store.put(key, record.model_dump_json(indent=1).encode())


def end_of(world: World, task: str = "copper") -> str:
    """The key of the end of the only attempt at a task."""
    (prefix,) = [p for p in read_histories(world.store, [submission_of(world)]) if f"/{task}/" in p]
    return f"{prefix}1/end.json"


def items_key(world: World) -> str:
    return result_key(world).removesuffix(".json") + ".items.safetensors"


def other_items(world: World) -> bytes:
    """The items table of copper, with changed numbers in the first item."""
    items = unpack_items(world.store.get(items_key(world)))
    for column in items.columns.values():
        column[0] += 1
    return pack_items(items)
