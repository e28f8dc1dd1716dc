"""A few texts of some corpora: what an 8-bit encoder sets its ranges by."""

from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest

from healthgym.errors import ContentError
from healthgym.retrieval.corpora import Corpus, Part, corpus_parts
from healthgym.retrieval.rows import UNKNOWN_LICENCE, Reading


def sample_texts(corpora: Iterable[Corpus], count: int) -> list[str]:
    """Return the full texts of at most `count` passages, taken in turn from every file and dataset.

    Rows that cannot be used are passed over: the build that follows reports them.

    Args:
        corpora: What build_index() takes.
        count: Texts at most; only as many files as that are opened.

    Raises:
        ContentError: a path that is not there or holds nothing that can be read.
    """
    parts = corpus_parts(corpora, Reading(licence=UNKNOWN_LICENCE))[:count]
    turns = zip_longest(*map(_texts, parts))
    return list(islice((text for turn in turns for text in turn if text is not None), count))


def _texts(part: Part) -> Iterator[str]:
    for row in part.rows(0):
        if not isinstance(row, ContentError):
            yield from (passage.full_text for passage in row)
