"""The files for programs: `leaderboard.json` and its JSON Schema."""

from __future__ import annotations

import json

from judge.view.leaderboard_schema import FILE, SCHEMA_FILE, LeaderboardFile
from judge.view.page_context import Frame


def pages(frame: Frame) -> dict[str, bytes]:
    """`leaderboard.json` and its schema."""
    schema = LeaderboardFile.model_json_schema(mode="serialization")
    return {FILE: frame.data, SCHEMA_FILE: json.dumps(schema, indent=1).encode() + b"\n"}
