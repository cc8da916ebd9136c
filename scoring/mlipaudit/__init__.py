"""MLIPAudit: soft thresholds per item, averaged over items, metrics and benchmarks."""

from scoring.mlipaudit.facts import AuditMetric, MlipAuditFacts, Slip
from scoring.mlipaudit.measured import Measured, scores_of_items
from scoring.mlipaudit.release import load_mlipaudit, parse_mlipaudit
from scoring.mlipaudit.soft_threshold import Direction, Rule, item_scores
from scoring.mlipaudit.tree import MlipAuditScore, mlipaudit_score, mlipaudit_tree, mlipaudit_trees

__all__ = [
    "AuditMetric",
    "Direction",
    "Measured",
    "MlipAuditFacts",
    "MlipAuditScore",
    "Rule",
    "Slip",
    "item_scores",
    "load_mlipaudit",
    "mlipaudit_score",
    "mlipaudit_tree",
    "mlipaudit_trees",
    "parse_mlipaudit",
    "scores_of_items",
]
