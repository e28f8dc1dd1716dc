"""Tasks: what is asked, what counts as right, what is dangerous, and the calls that prove it can be solved."""

from healthgym.tasks.answers import AnswerField, grade_answer, grade_field, grade_items
from healthgym.tasks.criteria import Budget, Criteria, Deadline, Evidence, Hazard, HazardHit, Order
from healthgym.tasks.families import Case, TaskFamily, task_family
from healthgym.tasks.predicates import matches
from healthgym.tasks.suite import Suite, load_suite
from healthgym.tasks.task import SPLITS, Call, Split, Task

__all__ = [
    "SPLITS",
    "AnswerField",
    "Budget",
    "Call",
    "Case",
    "Criteria",
    "Deadline",
    "Evidence",
    "Hazard",
    "HazardHit",
    "Order",
    "Split",
    "Suite",
    "Task",
    "TaskFamily",
    "grade_answer",
    "grade_field",
    "grade_items",
    "load_suite",
    "matches",
    "task_family",
]
