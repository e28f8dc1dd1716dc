"""Questions whose answers are known: those of MedQuAD, what tasks need, and what tasks' own solutions ask."""

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from healthgym.knowledge_base import KnowledgeBase, load
from healthgym.knowledge_base.render import passages
from healthgym.registry import load_domain
from healthgym.tasks import Call
from healthgym.tasks.suite import Suite

TASKS_A_FAMILY = 60


@dataclass(frozen=True)
class Question:
    """A query, the ids of the passages that answer it, and what kind of question it is."""

    text: str
    gold: frozenset[str]
    kind: str
    about: str

    @property
    def is_dev(self) -> bool:
        """Half of the subjects, chosen by their names, are there to tune by; figures are reported on the others."""
        return crc32(self.about.encode()) % 2 == 0


def medquad_questions(path: Path, count: int, seed: int = 5) -> list[Question]:
    """Return a seeded sample of MedQuAD's questions; the passages of a question's own answer are its gold."""
    gold: dict[tuple[str, str], set[str]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for row in map(json.loads, stream):
            gold.setdefault((row["question"], row["id"].rsplit("-", 1)[0]), set()).add(row["id"])
    asked: dict[str, set[str]] = {}
    for (question, _), ids in gold.items():
        asked.setdefault(question, set()).update(ids)
    texts = sorted(asked)
    random.Random(seed).shuffle(texts)
    return [Question(text, frozenset(asked[text]), "medquad", text) for text in texts[:count]]


def task_needs() -> list[Question]:
    """Return questions in the words of an agent that lacks one fact of the knowledge base, the fact's passage as gold."""
    kb = load()
    ids = [passage.id for passage in passages()]
    return [
        Question(text, gold, kind, about)
        for text, kind, about, prefix in _needs(kb)
        if (gold := frozenset(name for name in ids if name == prefix or _continues(name, prefix)))
    ]


def solution_searches() -> list[Question]:
    """Return the searches in solutions of the medical questions, each with the passage that the solution reads next."""
    suite, found = Suite([load_domain("medical_qa")]), {}
    for name in suite.domains["medical_qa"].families:
        for task_id in suite.ids(families=[name])[:TASKS_A_FAMILY]:
            for query, gold in _searched_and_read(suite.task(task_id).solution):
                found[query] = Question(query, frozenset([gold]), f"solution {gold.split(':')[0]}", gold)
    return list(found.values())


def _searched_and_read(calls: Sequence[Call]) -> Iterator[tuple[str, str]]:
    """Pair the searches of a solution with what it reads afterwards, where there are as many reads as searches."""
    searches = [call.arguments["query"] for call in calls if call.tool == "search_evidence"]
    read = [call.arguments["passage_id"] for call in calls if call.tool == "read_passage"]
    if len(read) == len(searches):
        yield from zip(searches, read, strict=True)


def _needs(kb: KnowledgeBase) -> Iterator[tuple[str, str, str, str]]:
    """Yield query, kind, subject and the id that its gold passages begin with."""
    for drug in kb.drugs.values():
        name, key = drug.name, f"drug:{drug.id}"
        yield f"{name} usual dose", "drug dose", key, key
        if drug.renal:
            yield f"{name} dose in kidney impairment", "drug dose", key, key
        if drug.contraindications:
            yield f"{name} contraindications", "drug safety", key, f"{key}:safety"
        if drug.pregnancy:
            yield f"is {name} safe in pregnancy", "drug safety", key, f"{key}:safety"
        if drug.lactation:
            yield f"{name} while breastfeeding", "drug safety", key, f"{key}:safety"
        if drug.beers:
            yield f"{name} in older adults Beers criteria", "drug safety", key, f"{key}:safety"
        if drug.qt_risk != "none":
            yield f"{name} QT prolongation risk", "drug safety", key, f"{key}:safety"
        if drug.cyp:
            yield f"{name} CYP metabolism", "drug handling", key, f"{key}:handling"
        if drug.monitoring:
            yield f"monitoring of {name}", "drug handling", key, f"{key}:handling"
    for item in kb.interactions:
        a, b, key = kb.drugs[item.a].name, kb.drugs[item.b].name, f"interaction:{item.a}:{item.b}"
        yield (f"{a} {b} interaction", f"can {b} be given with {a}")[len(key) % 2], "interaction", key, key
    for condition in kb.conditions.values():
        name, key = condition.name, f"condition:{condition.id}"
        yield f"ICD-10 code of {name}", "condition", key, key
        yield f"symptoms and signs of {name}", "condition", key, f"{key}:presentation"
        yield f"first line treatment of {name}", "condition", key, f"{key}:treatment"
    for analyte in kb.analytes.values():
        yield f"normal range of {analyte.name}", "analyte", f"analyte:{analyte.id}", f"analyte:{analyte.id}"
    for guideline in kb.guidelines.values():
        key = f"guideline:{guideline.id}"
        yield f"guideline {guideline.title}", "guideline", key, key


def _continues(name: str, prefix: str) -> bool:
    """Say whether a passage is a numbered continuation of another."""
    return name.startswith(f"{prefix}:") and name.removeprefix(f"{prefix}:").isdigit()


def ndcg_at_10(found: list[str], gold: frozenset[str]) -> float:
    """Return nDCG@10 with a gain of 1 for every gold passage."""
    gains = [1 / np.log2(place + 2) for place in range(10)]
    best = sum(gains[: len(gold)])
    return sum(gain for gain, name in zip(gains, found, strict=False) if name in gold) / best


def recall_at_10(found: list[str], gold: frozenset[str]) -> float:
    """Return the share of gold passages among the first ten, of the ten there is room for."""
    return len(gold.intersection(found[:10])) / min(10, len(gold))
