"""The files for programs: `leaderboard.json` and its JSON Schema."""

from __future__ import annotations

import json

from judge.view.leaderboard_schema import FILE, SCHEMA_FILE, LeaderboardFile
from judge.view.page_context import Frame


def pages(frame: Frame) -> dict[str, bytes]:
    """`leaderboard.json`, the same under a name with its hash, and its schema."""
    schema = LeaderboardFile.model_json_schema(mode="serialization")
    schema_file = json.dumps(schema, indent=1).encode() + b"\n"
    return {FILE: frame.data, frame.data_path: frame.data, SCHEMA_FILE: schema_file}
