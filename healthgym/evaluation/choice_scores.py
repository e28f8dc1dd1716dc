"""How a row of multiple choice is scored from what it stores, and what answers without understanding score."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from healthgym.diagnostics.text import is_degenerate
from healthgym.evaluation.benchmark import Floor
from healthgym.evaluation.extraction import extract
from healthgym.evaluation.items import Item
from healthgym.evaluation.questions import DECISIONS
from healthgym.evaluation.rows import Row, Status

Content = Mapping[str, Any]
SCORE_NAMES = {
    "label": "letter", "text": "option_text", "text_norm": "option_text_norm", "blind": "blind", "no_options": "no_options",
}  # fmt: skip
"""Score by what it is read from; `option_text_norm` divides by the text's characters."""


def is_listed(content: Content) -> bool:
    """Say whether a question lists options under labels, rather than being answered by yes, no or maybe."""
    return bool(content["options"] != DECISIONS)


def scored(row: Row, content: Content) -> Row:
    """Return the row with everything that follows from its stored log-probabilities and output."""
    gold, options = content["answer"], content["options"]
    logps: Mapping[str, Mapping[str, float]] = row.detail["logps"]
    scores: dict[str, float] = {}
    likeliest = {kind: max(values, key=values.__getitem__) for kind, values in logps.items()}
    if "text" in logps:
        per_character = {label: logp / max(1, len(options[label])) for label, logp in logps["text"].items()}
        likeliest["text_norm"] = max(per_character, key=per_character.__getitem__)
    for kind, name in SCORE_NAMES.items():
        if kind in likeliest:
            scores[name] = float(likeliest[kind] == gold)
    detail = {**row.detail, "likeliest": likeliest}
    status: Status = "answered"
    prediction: str | None = likeliest.get("label")
    if row.detail["reading"] != "likelihood":
        written, rule = extract(row.output, options)
        written_status = _status_of(row.output, written, rule, clipped=bool(row.detail.get("clipped")))
        detail |= {"written": written, "rule": rule, "written_status": written_status}
        if written_status == "answered":
            scores["generated"] = float(written == gold)
        if row.detail["reading"] == "generate":
            status, prediction = written_status, written
    score = float(prediction == gold) if status == "answered" else None
    return replace(row, status=status, score=score, scores=scores, prediction=prediction, gold=gold, detail=detail)


def _status_of(text: str, written: str | None, rule: str, *, clipped: bool) -> Status:
    if written is not None:
        return "answered"
    if is_degenerate(text):
        return "degenerate"
    if rule == "refusal":
        return "refused"
    return "truncated" if clipped else "unparsed"


def floors(items: Sequence[Item]) -> list[Floor]:
    """Return what policies without understanding score on items of multiple choice."""
    n = len(items)
    if not n:
        return []
    common, count = Counter(item.content["answer"] for item in items).most_common(1)[0]
    chance = sum(1 / len(item.content["options"]) for item in items) / n
    found = [
        Floor(name="majority", score=count / n, how=f"always answers {common}, the commonest answer"),
        Floor(name="random", score=chance, how="expected of a draw among each question's options"),
    ]
    listed = [item.content for item in items if is_listed(item.content)]
    if listed:
        longest = sum(longest_share(one["options"], [one["answer"]]) for one in listed) / len(listed)
        found.append(Floor(name="longest_option", score=longest, how="takes the option with most characters"))
        how = "the likeliest letter of the question without its options, with --set blind=yes"
        found.append(Floor(name="no_options", score=None, how=how))
    how = "the likeliest answer without the question (without its context where it lists no options), with --set blind=yes"
    return [*found, Floor(name="blind", score=None, how=how)]


def longest_share(options: Mapping[str, str], answers: Sequence[str]) -> float:
    """Return the chance of taking a right option, by its label, when ties between longest options are drawn."""
    longest = max(map(len, options.values()))
    tied = [label for label, text in options.items() if len(text) == longest]
    return sum(label in answers for label in tied) / len(tied)
