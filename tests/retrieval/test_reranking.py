"""A reranker orders the first hits anew; without one nothing changes."""

import pytest

from healthgym.errors import ConfigError
from healthgym.retrieval import MemoryRetriever, open_retriever
from healthgym.retrieval.reranking import load_reranker, reranked


def by_length(query, texts):
    return [-len(text) for text in texts]


def test_hits_come_in_the_order_the_reranker_gives(built):
    plain = open_retriever(built).search("treatment of acute pain", 10)
    hits = open_retriever(built, reranker=by_length).search("treatment of acute pain", 3)
    expected = sorted(plain, key=lambda hit: len(hit.passage.full_text))[:3]
    assert [hit.id for hit in hits] == [hit.id for hit in expected] != [hit.id for hit in plain[:3]]
    assert [hit.score for hit in hits] == [-len(hit.passage.full_text) for hit in expected]


def test_only_fused_searches_are_reranked(built):
    with_one, without = open_retriever(built, reranker=by_length), open_retriever(built)
    for mode in ("dense", "lexical"):
        assert with_one.search("acute gout", 5, mode=mode) == without.search("acute gout", 5, mode=mode)


def test_off_by_default_and_nothing_found_is_not_judged(facts, built):
    assert open_retriever(built).reranker is None
    retriever = MemoryRetriever(facts)
    retriever.reranker = lambda query, texts: pytest.fail("nothing to judge")
    assert retriever.search("the of and") == []


def test_equal_scores_keep_the_order():
    assert reranked(lambda query, texts: [1, 2, 1, 2], "q", ["a", "b", "c", "d"]) == [(1, 2), (3, 2), (0, 1), (2, 1)]


@pytest.mark.parametrize("scores", [[1.0], [1.0, float("nan")], [[1.0, 2.0], [3.0, 4.0]]])
def test_a_reranker_that_gives_no_number_for_each_is_refused(scores):
    with pytest.raises(ConfigError, match="one number for each of 2"):
        reranked(lambda query, texts: scores, "q", ["a", "b"])


def tiny_cross_encoder(folder, labels):
    """Save a cross-encoder with random weights and the words of a few texts."""
    transformers = pytest.importorskip("transformers")
    sentence_transformers = pytest.importorskip("sentence_transformers")
    import torch

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "gout", "acute", "pain", "stroke", "##s", "."]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64, num_labels=labels,
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    return sentence_transformers.CrossEncoder(str(folder), local_files_only=True)


def test_a_cross_encoder_on_disk_reranks(built, tmp_path):
    model = tiny_cross_encoder(tmp_path / "cross", 1)
    plain = open_retriever(built).search("acute gout pain", 10)
    hits = open_retriever(built, reranker=tmp_path / "cross").search("acute gout pain", 10)
    scores = model.predict([("acute gout pain", hit.passage.full_text) for hit in plain])
    expected = [hit.id for _, hit in sorted(zip(scores, plain, strict=True), key=lambda each: -each[0])]
    assert [hit.id for hit in hits] == expected
    assert [hit.score for hit in hits] == pytest.approx(sorted(scores.tolist(), reverse=True), abs=1e-5)


def test_a_model_with_two_labels_or_none_at_all_is_refused(tmp_path):
    tiny_cross_encoder(tmp_path / "two", 2)
    with pytest.raises(ConfigError, match="one label"):
        load_reranker(tmp_path / "two")("gout", ["acute gout", "stroke"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="folder of a cross-encoder"):
        load_reranker(str(tmp_path / "empty"))
