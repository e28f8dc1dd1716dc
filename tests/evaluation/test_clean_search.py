"""What is searched has a name: the digest of an index, of passages in memory, and of what is left out."""

from made_up_questions import lettered, passage

from healthgym.evaluation.clean_search import clean_search, index_digest, texts_of
from healthgym.evaluation.items import Item
from healthgym.retrieval import HashingEncoder, MemoryRetriever, SearchService, build_index, open_retriever


def test_the_digest_of_an_index_changes_with_its_passages_and_with_nothing_else(tmp_path):
    passages = [passage("a", "One thing."), passage("b", "Another thing.")]
    build_index([passages], tmp_path / "one", encoder=HashingEncoder())
    build_index([[passages[0], passage("b", "Another thing!")]], tmp_path / "two", encoder=HashingEncoder())
    one = index_digest(open_retriever(tmp_path / "one"))
    assert len(one) == 32 and one == index_digest(open_retriever(tmp_path / "one", exclude=["a"]))
    assert one != index_digest(open_retriever(tmp_path / "two"))
    in_memory = index_digest(MemoryRetriever(passages))
    assert in_memory == index_digest(MemoryRetriever(passages)) != index_digest(MemoryRetriever(passages[:1]))


def test_a_service_is_compared_through_the_retriever_it_wraps():
    words = " ".join(f"word{number}" for number in range(13))
    service = SearchService(MemoryRetriever([passage("copy", words), passage("other", "Something else.")]))
    search, record = clean_search(service, [lettered(0, question=f"{words}?")])
    assert record.excluded == 1 and [hit.id for hit in search.search("word1 something", 5)] == ["other"]
    assert [hit.id for hit in search.search("something", 5, exclude=["other"])] == []


def test_question_context_and_each_option_are_looked_for():
    item = Item(id="x", content={"question": "Q?", "context": "C.", "options": {"A": "one", "B": " "}, "answer": "A"})
    assert [(text.part, text.text) for text in texts_of([item])] == [
        ("question", "Q?"), ("context", "C."), ("options", "one"),
    ]  # fmt: skip
