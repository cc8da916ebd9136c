"""What listing and planning must know of each submission's records, kept in a file beside the log.

The index is made from the objects and never trusted over them: a submission's row is used only where all that it was
made from still bears the stamps of that moment (`Store.stamped`; on a local file system the folders too, so that
nothing has to be listed). Whatever was changed, added or removed since, by whatever hand, is read anew. What counts
before others (pages, manifests, verification) is read from the objects themselves, without the index.

The file may be deleted at any time. One that is broken, of another version of this judge or of another store is made
anew; of two processes that write at once the last one's rows stay, and both are right.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from judge.config import JudgeSettings
from judge.records.attempts import Attempt, History, read_part
from judge.records.decisions import FIRST_ROUNDS, Rounds
from judge.records.index_file import IndexFile, Row
from judge.records.index_stamps import END, SUBMISSION, Folders, Listing, Part
from judge.records.records import Claim, End, Result
from judge.records.result_selection import ResultFacts, those_that_count
from judge.records.results import read_record
from sandbox.verdict import Verdict
from submissions.records import Submission
from submissions.store.interface import Store
from submissions.store.local import LocalStore
from submissions.store.local_tree import GRANULARITY_NS, Seen

# That says what is read into a row, and what there is to do.
_CODE = (
    *(
        f"judge/records/{name}.py"
        for name in ("record_index", "result_selection", "attempts", "records", "content_keys")
    ),
    *(f"judge/evaluation/{name}.py" for name in ("plan", "dispersion_policy")),
    "submissions/records.py",
)


class Summary(NamedTuple):
    """A submission in a line.

    Args:
        submitted: when, in words.
        created: when; seconds since 1970.
        results: how many count.
        ok: of these.
        held: units that wait for a person.
    """

    id: str
    name: str
    driver: str
    submitted: str
    created: float
    results: int
    ok: int
    held: int


class Facts(BaseModel):
    """What the records of one submission say. Parsed as a whole: one by one would take longer.

    Args:
        ends: of attempts, by key.
        claims: of the attempts without an end, by key.
        stated: by key of each result, its `ResultFacts` as JSON.
    """

    model_config = ConfigDict(frozen=True)

    submission: Submission
    ends: dict[str, End]
    claims: dict[str, Claim]
    stated: dict[str, str]

    @property
    def histories(self) -> dict[str, History]:
        """The attempts, by the prefix of their unit."""
        attempts: dict[str, list[Attempt]] = {}
        for key, end in self.ends.items():
            prefix, number, _ = key.rsplit("/", 2)
            attempts.setdefault(f"{prefix}/", []).append(Attempt(int(number), end=end))
        for key, claim in self.claims.items():
            prefix, number, _ = key.rsplit("/", 2)
            attempts.setdefault(f"{prefix}/", []).append(Attempt(int(number), claim=claim))
        return {prefix: History(tuple(sorted(own, key=attrgetter("n")))) for prefix, own in attempts.items()}

    @property
    def results(self) -> list[ResultFacts]:
        """All results, whether they count or not."""
        facts = (ResultFacts(*json.loads(text)) for text in self.stated.values())
        return [each._replace(verdict=Verdict(each.verdict)) for each in facts]

    def summary(self, rounds: Rounds = FIRST_ROUNDS) -> Summary:
        """The submission in a line, when these rounds count."""
        of, histories = self.submission, self.histories
        counting = those_that_count(self.results, histories, rounds, of_all_suites=True)
        return Summary(
            id=of.id,
            name=of.card.name,
            driver=of.image.driver,
            submitted=f"{of.created:%Y-%m-%d %H:%M}",
            created=of.created.timestamp(),
            results=len(counting),
            ok=sum(result.verdict is Verdict.OK for result in counting),
            held=sum(history.held is not None for history in histories.values()),
        )


@dataclass(frozen=True)
class RecordIndex:
    """The rows of one store.

    Args:
        file: None where there is to be none: then all is read each time.
        granularity_ns: of the clock that stamps the store's files; what was changed since is read again next time.
    """

    store: Store
    file: IndexFile | None
    granularity_ns: int = GRANULARITY_NS

    def summaries(self, rounds: Mapping[str, Rounds]) -> list[Summary]:
        """Each submission in a line, in the order in which they came.

        Args:
            rounds: by submission, of all that there are, those of its rounds that count.

        Raises:
            StoreError: a record cannot be read; one line that names it.
        """
        rows = self.rows(rounds, with_facts=False)
        said = {id: Summary(*json.loads(row.summary)) for id, row in rows.items()}
        others = self.facts([id for id, own in rounds.items() if own])
        said |= {id: facts.summary(rounds[id]) for id, facts in others.items()}
        return sorted(said.values(), key=lambda each: (each.created, each.id))

    def facts(self, submissions: Collection[str]) -> dict[str, Facts]:
        """What the records of `submissions` say, by submission.

        Raises:
            StoreError: a record cannot be read; one line that names it.
        """
        return {id: Facts.model_validate_json(row.facts) for id, row in self.rows(submissions).items()}

    def is_settled(self, submissions: Collection[str], key: str) -> bool:
        """Whether `settle` was told the same, and no record of `submissions` was changed, added or removed since."""
        if self.file is None:
            return False
        known = self.file.read(with_facts=False)
        rows = {id: known[id] for id in submissions if id in known}
        if len(rows) < len(submissions) or self.file.settled() != _settled(rows, key):
            return False
        seen = {id: Seen(row.names, row.stamps) for id, row in rows.items()}
        return len(self._look().unchanged(seen)) == len(rows)

    def settle(self, rows: Mapping[str, Row], key: str) -> None:
        """Notes that there is nothing to do for the submissions of `rows`, unless any was too fresh to be kept.

        Args:
            key: of all else that this follows from.
        """
        if self.file is not None and rows.items() <= self.file.read().items():
            self.file.settle(_settled(rows, key))

    def _look(self) -> Folders | Listing:
        store = self.store
        return Folders(store, self.granularity_ns) if isinstance(store, LocalStore) else Listing(store)

    def rows(self, submissions: Collection[str], with_facts: bool = True) -> dict[str, Row]:
        """A row for each of `submissions`, true to the objects as they are now."""
        known = self.file.read(with_facts) if self.file and submissions else {}
        look = self._look()
        rows = {id: known[id] for id in submissions if id in known}
        same = look.unchanged({id: Seen(row.names, row.stamps) for id, row in rows.items()})
        if self.file and not with_facts and len(same) < len(rows):
            known = self.file.read()  # for what is still good of those that changed
        made: dict[str, Row] = {}
        try:
            for id in submissions:
                if id not in same:
                    part = look.part(id)
                    rows[id] = self._make(id, part, known.get(id))
                    if not part.fresh:
                        made[id] = rows[id]
        finally:  # what was made before one could not be read need not be made again
            if self.file and made:
                self.file.write(made)
        return {id: rows[id] for id in submissions}

    def _make(self, id: str, part: Part, old: Row | None) -> Row:
        """The row of a submission. What has its stamp of before is not read again."""
        known: dict[str, Submission | End | Claim | str] = {}
        if old is not None and not part.fresh:
            before = Seen(old.names, old.stamps).by_name()
            known = {key: told for key, told in _by_key(id, old).items() if before.get(key) == part.stamps.get(key)}
        keys = dict.fromkeys([_submission_key(id), *part.keys])
        told = {key: known[key] if key in known else _read(self.store, key) for key in keys}
        (submission,) = (each for each in told.values() if isinstance(each, Submission))
        facts = Facts.model_construct(
            submission=submission,
            ends={key: each for key, each in told.items() if isinstance(each, End)},
            claims={key: each for key, each in told.items() if isinstance(each, Claim)},
            stated={key: each for key, each in told.items() if isinstance(each, str)},
        )
        names, stamps = Seen.of(part.stamps)
        return Row(names, stamps, json.dumps(facts.summary()), facts.model_dump_json(exclude_defaults=True))


def open_index(settings: JudgeSettings, store: Store) -> RecordIndex:
    """The index of `store`, which is that of the settings."""
    address = f"{settings.store} {settings.endpoint_url}"
    name = hashlib.sha256(address.encode()).hexdigest()[:16]
    return RecordIndex(store, IndexFile(settings.log.parent / "index" / f"{name}.sqlite", f"{address} {_code()}"))


def _settled(rows: Mapping[str, Row], key: str) -> str:
    """sha256 of what the rows were made from, and of `key`."""
    digest = hashlib.sha256(key.encode())
    for id, row in sorted(rows.items()):
        digest.update(f"{id}\n{row.names}\n".encode())
        digest.update(row.stamps)
    return digest.hexdigest()


def _code() -> str:
    """sha256 of these files: so that no judge believes the rows of another version."""
    digest = hashlib.sha256()
    for file in _CODE:
        digest.update((Path(__file__).parents[2] / file).read_bytes())
    return digest.hexdigest()


def _read(store: Store, key: str) -> Submission | End | Claim | str:
    """What is kept of the record under `key`.

    Raises:
        StoreError: it cannot be read.
    """
    if key.startswith("submissions/"):
        return read_record(store, key, Submission)
    if key.startswith("results/"):
        return json.dumps(ResultFacts.of(key, read_record(store, key, Result)))
    return read_part(store, key, End) if key.endswith(END) else read_part(store, key, Claim)


def _by_key(id: str, row: Row) -> dict[str, Submission | End | Claim | str]:
    """What is kept in `row`, by the keys of the records."""
    facts = Facts.model_validate_json(row.facts)
    return {_submission_key(id): facts.submission, **facts.ends, **facts.claims, **facts.stated}


def _submission_key(id: str) -> str:
    return f"submissions/{id}{SUBMISSION}"
