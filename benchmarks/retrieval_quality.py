"""nDCG@10 and recall@10 of dense, lexical and fused searches on questions with known answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from retrieval_questions import (
    Question,
    medquad_questions,
    ndcg_at_10,
    recall_at_10,
    solution_searches,
    task_needs,
)

from healthgym.retrieval import Retriever
from healthgym.retrieval.builtin import builtin_retriever

MODES = ("dense", "lexical", "fused")


def quality(retriever: Retriever, questions: Sequence[Question], mode: str) -> dict[str, Any]:
    """Return n and the means of nDCG@10 and recall@10."""
    found = retriever.search_many([question.text for question in questions], 10, mode=mode)  # type: ignore[arg-type]
    ids = [[hit.id for hit in hits] for hits in found]
    return {
        "n": len(questions),
        "ndcg": round(float(np.mean([ndcg_at_10(each, q.gold) for each, q in zip(ids, questions, strict=True)])), 4),
        "recall": round(
            float(np.mean([recall_at_10(each, q.gold) for each, q in zip(ids, questions, strict=True)])), 4
        ),
    }


def corpus_quality(retriever: Retriever, medquad: Path, count: int) -> dict[str, Any]:
    """Return quality by mode on MedQuAD's questions, whose passages must all be in the base; tuning half and test half."""
    questions = [
        question
        for question in medquad_questions(medquad, count)
        if all(retriever.store.position(name) is not None for name in question.gold)
    ]
    halves = {"dev": [q for q in questions if q.is_dev], "test": [q for q in questions if not q.is_dev]}
    return {f"{half} {mode}": quality(retriever, asked, mode) for half, asked in halves.items() for mode in MODES}


def builtin_quality() -> dict[str, Any]:
    """Return quality by mode of the built-in retriever on what tasks need, by kind, on the test half."""
    retriever, needs = builtin_retriever(), task_needs()
    test = [question for question in needs if not question.is_dev]
    results = {f"needs {mode}": quality(retriever, test, mode) for mode in MODES}
    for kind in sorted({question.kind for question in test}):
        results[f"needs fused: {kind}"] = quality(retriever, [q for q in test if q.kind == kind], "fused")
    solutions = [question for question in solution_searches() if not question.is_dev]
    return results | {f"solutions {mode}": quality(retriever, solutions, mode) for mode in MODES}
