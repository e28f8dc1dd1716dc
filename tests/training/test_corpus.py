import pytest
from fever import fever_folder

from healthgym.tasks import load_suite
from healthgym.training.corpus import tokenizer_texts
from healthgym.training.hints import HINT_WORDING
from healthgym.training.loading import make_config
from healthgym.training.tiny_model import train_tokenizer


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = fever_folder(tmp_path_factory.mktemp("domain"))
    config = make_config({"model": {"tiny": {}}, "env": {"domains": [folder], "prompt_profile": "bare"}})
    suite = load_suite(folder)
    return list(tokenizer_texts(config, suite, suite.ids(split="train")[:9]))


def test_what_oracles_read_and_write_is_there(texts: list[str]):
    assert any(text.startswith('{"name": "weigh_patient", "arguments"') for text in texts)
    assert any("weighs" in text for text in texts)


def test_no_phrase_of_a_hint_is_a_single_token(texts: list[str]):
    tokenizer = train_tokenizer(texts, 700)
    for phrase in HINT_WORDING:
        assert len(tokenizer(f"x {phrase}")["input_ids"]) >= len(phrase.split()), phrase
