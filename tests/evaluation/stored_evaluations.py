"""Evaluation folders as a run leaves them, made from rows."""

import json
from pathlib import Path

from healthgym.evaluation.rows import Row, RowFile
from healthgym.evaluation.summary import summarise_rows


def row(number, score=1.0, status="answered", **values):
    """Return a row of item q<number>."""
    return Row(id=f"q{number}", status=status, score=score if status == "answered" else None, **values)


def rows_of(scores, **values):
    """Return one row for each score; None is an unparsed one."""
    return [
        row(place, score, **values) if score is not None else row(place, status="unparsed", **values)
        for place, score in enumerate(scores)
    ]


def write_evaluation(
    folder, rows, *, suite="quiz", mode="text", scorer="quiz-1", items="i" * 64, weights="w" * 64, template="t" * 64,
    max_tokens=32, floors=(), result=True,
) -> Path:  # fmt: skip
    """Write run.json, rows.jsonl and, unless told otherwise, result.json; return the folder."""
    hashes = {"weights": weights, "chat_template": template}
    settings = {"mode": mode, "max_tokens": max_tokens}
    file = RowFile(folder / "rows.jsonl")
    for each in rows:
        file.append(each)
    file.close()
    identity = {
        "benchmark": suite, "scorer": scorer, "items": items, "settings": settings, "seed": 0,
        "candidate": {"engine": "toy 1", "hashes": hashes, "sampling": {"temperature": 0.0}},
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps({"identity": identity}), encoding="utf-8")
    if result:
        summary = summarise_rows(
            rows, suite=suite, mode=mode, candidate=folder.name, scorer=scorer, engine="toy 1", settings=settings,
            hashes={**hashes, "items": items}, floors=floors, machine={"cores": 2},
        )  # fmt: skip
        (folder / "result.json").write_text(json.dumps(summary.to_dict()), encoding="utf-8")
    return folder
