"""Questions give nothing away: no classifier that never reads evidence tells right options from wrong ones."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest

from healthgym.registry import load_domain

DOMAIN = load_domain("medical_qa")
OPTION = re.compile(r"^([A-H])\. (.+)$", re.MULTILINE)
WORD = re.compile(r"[\w.]+")
TRAIN, FRESH = 38, 30
"""Cases a family: those of the frozen train split, and test cases that are generated beyond the frozen ones."""
READS_THE_PROMPT = "score_totals"
"""Its options name parts of a score whose values stand in the prompt, so words of both together tell by design."""


@dataclass(frozen=True)
class Row:
    family: str
    task: str
    question: str
    letter: str
    text: str
    is_right: bool
    place: float
    """Position among the options, 0 to 1."""
    longer: float
    """Characters above the mean of the task's options."""
    rank: float
    """Rank by length, 0 to 1."""


@lru_cache(maxsize=4)
def rows(split, count):
    found = []
    for family in DOMAIN.families.values():
        for index in range(count):
            task = family.case("medical_qa", split, index).task
            options = OPTION.findall(task.prompt)
            answer = task.criteria.answer
            right = answer["choices"].gold if "choices" in answer else (answer["choice"].gold if options else ())
            lengths = [len(text) for _, text in options]
            ranks = np.argsort(np.argsort(lengths, kind="stable"), kind="stable")
            for place, (letter, text) in enumerate(options):
                found.append(
                    Row(
                        family.name,
                        task.id,
                        task.prompt.split("\nA. ")[0],
                        letter,
                        text,
                        letter in right,
                        place / len(options),
                        len(text) - float(np.mean(lengths)),
                        ranks[place] / len(options),
                    )
                )
    return tuple(found)


def words(text):
    return set(WORD.findall(text.lower()))


def alone(row):
    """Words of the question and of the option, each for itself."""
    return [f"q:{word}" for word in words(row.question)] + [f"o:{word}" for word in words(row.text)]


def together(row):
    """Every word of the question with every word of the option: enough to memorise facts."""
    return [f"{a} {b}" for a in words(row.question) for b in words(row.text)]


def auc_within_tasks(some, scores):
    """Mean over tasks of the chance that a right option outscores a wrong one, its standard error; 0.5 is blind."""
    tasks = defaultdict(lambda: ([], []))
    for row, score in zip(some, scores, strict=True):
        tasks[row.task][row.is_right].append(score)
    values = [
        np.mean([(r > w) + 0.5 * (r == w) for r in right for w in wrong])
        for wrong, right in tasks.values()
        if right and wrong
    ]
    return float(np.mean(values)), float(np.std(values) / np.sqrt(len(values)))


def assert_blind(some, scores, *, families=()):
    mean, error = auc_within_tasks(some, scores)
    assert abs(mean - 0.5) < 0.06, f"{mean:.3f} +- {error:.3f}"
    for family in families:
        own = [(row, score) for row, score in zip(some, scores, strict=True) if row.family == family]
        mean, error = auc_within_tasks([row for row, _ in own], [score for _, score in own])
        assert abs(mean - 0.5) < max(0.12, 3.5 * error), f"{family}: {mean:.3f} +- {error:.3f}"


def bag_of_words(features, keep):
    text = pytest.importorskip("sklearn.feature_extraction.text")
    linear = pytest.importorskip("sklearn.linear_model")
    train, test = ([row for row in rows(*which) if keep(row)] for which in (("train", TRAIN), ("test", FRESH)))
    vectorizer = text.CountVectorizer(analyzer=features, binary=True)
    model = linear.LogisticRegression(C=0.3, max_iter=300)
    model.fit(vectorizer.fit_transform(train), [row.is_right for row in train])
    learnt, _ = auc_within_tasks(train, model.decision_function(vectorizer.transform(train)))
    assert learnt > 0.65  # it can fit what it was trained on, so that failing on the rest means something
    return test, model.decision_function(vectorizer.transform(test))


def lettered():
    return sorted({row.family for row in rows("test", FRESH)})


def test_a_bag_of_words_learns_nothing_that_holds_for_new_questions():
    test, scores = bag_of_words(alone, lambda row: True)
    assert_blind(test, scores, families=lettered())


def test_words_of_question_and_option_together_are_blind_too():
    test, scores = bag_of_words(together, lambda row: row.family != READS_THE_PROMPT)
    assert_blind(test, scores, families=[name for name in lettered() if name != READS_THE_PROMPT])


def test_length_and_position_of_an_option_tell_nothing():
    ensemble = pytest.importorskip("sklearn.ensemble")
    measures = lambda some: np.array([[row.place, row.longer, row.rank, len(row.text)] for row in some])  # noqa: E731
    train, test = rows("train", TRAIN), rows("test", FRESH)
    model = ensemble.GradientBoostingClassifier(n_estimators=40, random_state=0)
    model.fit(measures(train), [row.is_right for row in train])
    assert_blind(test, model.decision_function(measures(test)), families=lettered())


def test_neither_the_longest_nor_the_first_option_is_a_good_bet():
    both = (*rows("train", TRAIN), *rows("test", FRESH))
    assert_blind(both, [row.longer for row in both], families=lettered())
    assert_blind(both, [-row.place for row in both], families=lettered())


def test_an_option_that_shares_words_with_its_question_is_no_better():
    both = [row for row in (*rows("train", TRAIN), *rows("test", FRESH)) if row.family != READS_THE_PROMPT]
    assert_blind(both, [len(words(row.question) & words(row.text)) for row in both])


def test_an_option_text_is_right_about_as_often_as_its_place_among_the_options_says():
    # Expected: the share of right options in each task it stands in. The spread over texts is that of independent coins:
    # the mean squared deviation in units of its variance is about 1; 1.5 would be far off for a hundred texts.
    both = (*rows("train", TRAIN), *rows("test", FRESH))
    share = {task: np.mean([row.is_right for row in both if row.task == task]) for task in {row.task for row in both}}
    seen = defaultdict(list)
    for row in both:
        if row.family not in ("guideline_claims", "value_claims"):
            seen[row.family, row.text].append((row.is_right, share[row.task]))
    common = {text: items for text, items in seen.items() if len(items) >= 8}
    assert len(common) >= 40
    squares = []
    for items in common.values():
        expected = sum(p for _, p in items)
        variance = sum(p * (1 - p) for _, p in items)
        squares.append((sum(right for right, _ in items) - expected) ** 2 / variance)
    assert np.mean(squares) < 1.5
    always = Counter(
        all(right for right, _ in items) for items in common.values() if np.mean([p for _, p in items]) > 0.35
    )
    assert always[True] <= 0.03 * always.total()


def test_a_claim_that_is_right_in_one_question_is_wrong_in_another():
    # Claims are asked for both as supported and as unsupported: half of the right options are true sentences.
    for family in ("guideline_claims", "value_claims"):
        tasks = {row.task: row.question for row in rows("train", TRAIN) if row.family == family}
        variants = Counter(
            DOMAIN.families[family].case("medical_qa", "train", i).task.template.split("/")[0] for i in range(TRAIN)
        )
        assert len(variants) == 2 and min(variants.values()) >= 0.25 * len(tasks), variants
