"""`judge verify`: checks that results and publications follow from the stored observations."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from judge.audit.verify_published import PublicationCheck, check_published
from judge.audit.verify_results import SubmissionCheck, VerificationContext, check_submission
from judge.cli.maintainer.request_options import require_choice
from judge.cli.output import print_json
from judge.evaluation.current_results import current_results
from judge.evaluation.request import choose_id
from judge.publishing.destination import open_site
from judge.records.manifest import Defect
from judge.records.signing import public_key
from judge.records.suite_record import load_unchanged
from judge.workspace import Workspace, open_workspace
from sandbox.events import plain
from submissions.store.interface import Store, StoreError
from tasks.datasets.dataset import DatasetError
from tasks.suites.suite import Suite

BROKEN = 1
SUITES = "suites/"
REMOVED = "observations were removed by the retention policy"
MAX_LINE = 1000


def run_verify(
    ids: list[str] | None,
    everything: bool,
    suite: str | None,
    trust: list[str] | None,
    skip_missing: bool,
    as_json: bool,
) -> None:
    """Measures every result again from its observation; checks what was published."""
    require_choice("verify", ids, everything)
    workspace = open_workspace()
    settings, store = workspace.settings, workspace.store
    chosen = load_unchanged(store, suite or settings.suite)
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
        print_json(_as_data(checked, published, defects, status))
    else:
        for line in (*_summary(checked, published, defects), *_other_suites(store, chosen, defects)):
            print(line)
    raise typer.Exit(status)


def _current(workspace: Workspace, suite: Suite) -> frozenset[str] | None:
    """Keys of the current results; None if a record is broken. The check of that record reports it."""
    try:
        return current_results(workspace, suite)
    except (DatasetError, StoreError):
        return None


def _chosen(store: Store, ids: Sequence[str]) -> list[str]:
    """The submissions that `ids` name, by ID or by an unambiguous beginning; all if there are none. A submission counts
    even if only its results are left.
    """
    known = sorted({key.split("/")[1] for folder in ("submissions/", "results/") for key in store.list(folder)})
    return list(dict.fromkeys(choose_id(known, wanted) for wanted in ids)) or known


def _line(checked: SubmissionCheck) -> str:
    """The check of one submission, in a line."""
    rows = {row.what: row for row in checked.defects}
    missing = sum(row.missing for row in rows.values())
    bad = len(rows) - missing
    if bad or not (rows or checked.removed):
        mark, state = ("NOT", f"{bad} of them do not hold") if bad else ("ok ", "hold")
    else:
        mark, state = "–  ", "not all verified"
    left = f", {missing} not verified: data sets are missing" if missing else ""
    left += f", {len(checked.removed)} not measured again: {REMOVED}" if checked.removed else ""
    return f"{mark}  {checked.submission}: {checked.n_results} results: {state}{left}"


def _summary(checked: list[SubmissionCheck], published: PublicationCheck, defects: list[Defect]) -> list[str]:
    """The last lines: what was published, the largest difference, and the first failure."""
    mark = "NOT" if published.defects else "ok "
    pages = "no pages here" if published.n_files is None else f"{published.n_files} files of the site"
    lines = [f"{mark}  {published.n_manifests} manifests, {published.n_results} published results, {pages}"]
    largest = max((each.largest for each in checked), default=0.0)
    if largest:
        lines.append(f"Measured again, no number differs by more than {largest:.1g} of itself.")
    if defects:
        others = f" (and {len(defects) - 1} more)" if len(defects) > 1 else ""
        lines.append(f"The first that does not hold{others}: {plain(str(defects[0]), MAX_LINE)}")
    elif any(each.removed for each in checked):
        lines.append(f"Everything else holds: {REMOVED}, of {sum(len(each.removed) for each in checked)} results.")
    else:
        lines.append("Everything holds.")
    return lines


def _other_suites(store: Store, suite: Suite, defects: list[Defect]) -> list[str]:
    """If something does not hold, and nothing was judged by `suite`: a line with the suites that were."""
    judged = sorted({key.removeprefix(SUITES).partition("@")[0] for key in store.list(SUITES)})
    if not defects or not judged or suite.name in judged:
        return []
    return [f"Nothing was judged by the suite {suite.name}. Name one that was with --suite: {', '.join(judged)}"]


def _as_data(
    checked: list[SubmissionCheck], published: PublicationCheck, defects: list[Defect], status: int
) -> dict[str, object]:
    """The same for a program."""
    return {
        "submissions": [
            {
                "id": each.submission,
                "n_results": each.n_results,
                "largest_difference": each.largest,
                "observations_removed": each.removed,
            }
            for each in checked
        ],
        "manifests": published.n_manifests,
        "published_results": published.n_results,
        "site_files": published.n_files,
        "broken": [row._asdict() for row in defects],
        "exit_status": status,
    }
