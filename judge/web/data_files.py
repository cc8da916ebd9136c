"""What is there for machines."""

from __future__ import annotations

import json

from judge.web.frame import Frame
from judge.web.leaderboard_file import FILE, SCHEMA_FILE, LeaderboardFile


def pages(frame: Frame) -> dict[str, bytes]:
    """`leaderboard.json` and its schema."""
    schema = LeaderboardFile.model_json_schema(mode="serialization")
    return {FILE: frame.data, SCHEMA_FILE: json.dumps(schema, indent=1).encode() + b"\n"}
