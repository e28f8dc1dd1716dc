"""How far two texts overlap: exact match, token recall, token F1 and ROUGE-L, each with its own published tokens."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

_CJK = "\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_ROUGE_WORD = re.compile(r"[a-z0-9]+")
_ARTICLES = frozenset({"a", "an", "the"})


class Overlap(NamedTuple):
    """Precision, recall and F1, each in [0, 1]."""

    precision: float
    recall: float
    f1: float


def words(text: str) -> list[str]:
    """Return a text's words: lower case, no punctuation, Chinese characters one by one."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def exact_match(prediction: str, references: Sequence[str]) -> float:
    """Return 1 when the prediction has the same words as one of the references in the same order, else 0.

    Source: evaluation of VQA-Med at ImageCLEF 2021 (lower case, punctuation removed, exact match).
    """
    said = words(prediction)
    return float(any(said == words(reference) for reference in references))


def token_recall(prediction: str, references: Sequence[str]) -> float:
    """Return the greatest share of a reference's words, each as often as it occurs there, that the prediction holds.

    Source: the measure of open questions in LLaVA-Med, Li et al., NeurIPS 2023 datasets track, arXiv:2306.00890, sec. 5.
    It rewards long answers: a text with every word of the language has a recall of 1.
    """
    said = Counter(words(prediction))
    return max((_overlap(said, Counter(words(reference))).recall for reference in references), default=0.0)


def token_f1(prediction: str, references: Sequence[str]) -> float:
    """Return the greatest F1 over words, articles left out, against one of the references.

    Source: SQuAD, Rajpurkar et al., EMNLP 2016, sec. 6.1 (articles and punctuation left out; maximum over references).
    """
    said = _counted(prediction)
    return max((_overlap(said, _counted(reference)).f1 for reference in references), default=0.0)


def rouge_words(text: str) -> list[str]:
    """Return the words that ROUGE counts here: lower case, runs of a-z and 0-9, no stemming, no stop words removed."""
    return _ROUGE_WORD.findall(text.lower())


def rouge_l(prediction: str, references: Sequence[str]) -> Overlap:
    """Return ROUGE-L of the whole text as one sentence, against the reference with the greatest F1 (beta = 1).

    The same numbers as the package rouge_score 0.1.2 gives for `rougeL` with `use_stemmer=False`.

    Source: Lin, ROUGE, ACL workshop Text Summarization Branches Out 2004, sec. 3.1; maximum over references as in sec. 2.1.
    """
    said = rouge_words(prediction)
    scores = [_rouge_l(said, rouge_words(reference)) for reference in references]
    return max(scores, key=lambda overlap: overlap.f1, default=Overlap(0.0, 0.0, 0.0))


def _rouge_l(said: list[str], wanted: list[str]) -> Overlap:
    return _shares(common_subsequence(said, wanted), len(said), len(wanted))


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, in time proportional to len(first) with len(second) bits.

    Source: Hyyrö, Bit-parallel LCS-length computation revisited, AWOCA 2004: V starts as all ones; for each word with
    positions M in `second`, U = V & M and V = (V + U) | (V - U); the length is the number of zeros in V.
    """
    positions: dict[str, int] = {}
    for place, word in enumerate(second):
        positions[word] = positions.get(word, 0) | 1 << place
    full = (1 << len(second)) - 1
    row = full
    for word in first:
        matched = row & positions.get(word, 0)
        row = ((row + matched) | (row - matched)) & full
    return len(second) - row.bit_count()


def _counted(text: str) -> Counter[str]:
    return Counter(word for word in words(text) if word not in _ARTICLES)


def _overlap(said: Counter[str], wanted: Counter[str]) -> Overlap:
    return _shares((said & wanted).total(), said.total(), wanted.total())


def _shares(common: int, said: int, wanted: int) -> Overlap:
    if not common:
        return Overlap(0.0, 0.0, 0.0)
    precision, recall = common / said, common / wanted
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall))
