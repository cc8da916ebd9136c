"""`judge verify`: whether what was judged and published still follows from what is stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from judge.audit.verify_published import PublicationCheck, check_published
from judge.audit.verify_results import SubmissionCheck, VerificationContext, check_submission
from judge.cli.options import Json, SkipMissing, SuiteName
from judge.config import UsageError
from judge.evaluation.current_results import current_results
from judge.publishing.destination import open_site
from judge.records.manifest import Defect
from judge.records.signing import public_key
from judge.workspace import Workspace, open_workspace
from sandbox.events import plain
from submissions.store.interface import Store, StoreError
from tasks.datasets.dataset import DatasetError
from tasks.suites.suite import Suite, load_suite

BROKEN = 1
MAX_LINE = 1000


def verify_command(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="submissions")] = None,
    everything: Annotated[bool, typer.Option("--all", help="all submissions")] = False,
    suite: SuiteName = None,
    trust: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="a public key to trust this once; may be repeated")
    ] = None,
    skip_missing: SkipMissing = False,
    as_json: Json = False,
) -> None:
    """Measures every result again from its observation; checks hashes, signatures, manifests and published pages.

    Starts no container. Exit status 1 if anything does not hold: the first such row is named last.
    """
    if everything == bool(ids):
        raise UsageError("say which submissions: judge verify --all, or judge verify ID…")
    workspace = open_workspace()
    settings, store = workspace.settings, workspace.store
    chosen = load_suite(suite or settings.suite)
    trusted = workspace.trusted | {public_key(key, "--trust") for key in trust or ()}
    context = VerificationContext(store, workspace.data, chosen, trusted, _current(workspace, chosen))
    checked = []
    for id in _chosen(store, ids or ()):
        checked.append(check_submission(context, id))
        if not as_json:
            print(_line(checked[-1]), flush=True)
    published = check_published(store, chosen, open_site(settings), trusted)
    rows = (*(row for each in checked for row in each.defects), *published.defects)
    defects = [row for row in rows if not (skip_missing and row.missing)]
    status = BROKEN if defects else 0
    if as_json:
        print(json.dumps(_as_data(checked, published, defects, status), indent=1))
    else:
        for line in _summary(checked, published, defects):
            print(line)
    raise typer.Exit(status)


def _current(workspace: Workspace, suite: Suite) -> frozenset[str] | None:
    """Keys of the results that fit the present; None where something is broken, which its rows will say."""
    try:
        return current_results(workspace, suite)
    except (DatasetError, StoreError):
        return None


def _chosen(store: Store, ids: Sequence[str]) -> list[str]:
    """The submissions that `ids` name, by ID or by a beginning that only one has; all for none, also those of which
    there are results alone.
    """
    known = sorted({key.split("/")[1] for folder in ("submissions/", "results/") for key in store.list(folder)})
    chosen: dict[str, None] = {}
    for wanted in ids:
        found = [id for id in known if id == wanted] or [id for id in known if id.startswith(wanted)]
        if not found:
            raise UsageError(f"there is no submission {wanted!r}: see them with judge list")
        if len(found) > 1:
            raise UsageError(f"{wanted!r} is the beginning of {len(found)} submissions: {', '.join(found)}")
        chosen[found[0]] = None
    return list(chosen) if ids else known


def _line(checked: SubmissionCheck) -> str:
    """One submission in a line."""
    rows = {row.what: row for row in checked.defects}
    missing = sum(row.missing for row in rows.values())
    bad = len(rows) - missing
    if bad or not rows:
        mark, said = ("NOT", f"{bad} of them do not hold") if bad else ("ok ", "hold")
    else:
        mark, said = "–  ", "not all verified"
    left = f", {missing} not verified: data sets are missing" if missing else ""
    return f"{mark}  {checked.submission}: {checked.n_results} results: {said}{left}"


def _summary(checked: list[SubmissionCheck], published: PublicationCheck, defects: list[Defect]) -> list[str]:
    """The rest for a person: what was published, the largest difference, and the first row that does not hold."""
    mark = "NOT" if published.defects else "ok "
    pages = "no pages here" if published.n_files is None else f"{published.n_files} files of the site"
    lines = [f"{mark}  {published.n_manifests} manifests, {published.n_results} published results, {pages}"]
    largest = max((each.largest for each in checked), default=0.0)
    if largest:
        lines.append(f"Measured again, no number differs by more than {largest:.1g} of itself.")
    if defects:
        others = f" (and {len(defects) - 1} more)" if len(defects) > 1 else ""
        lines.append(f"The first that does not hold{others}: {plain(str(defects[0]), MAX_LINE)}")
    else:
        lines.append("Everything holds.")
    return lines


def _as_data(
    checked: list[SubmissionCheck], published: PublicationCheck, defects: list[Defect], status: int
) -> dict[str, object]:
    """The same for a machine."""
    return {
        "submissions": [
            {"id": each.submission, "n_results": each.n_results, "largest_difference": each.largest} for each in checked
        ],
        "manifests": published.n_manifests,
        "published_results": published.n_results,
        "site_files": published.n_files,
        "broken": [row._asdict() for row in defects],
        "exit_status": status,
    }
