"""A small real domain, a tokenizer trained on its texts, and a tiny model."""

from pathlib import Path

import pytest

from healthgym.authoring.scaffold import new_domain
from healthgym.rollout import ChatTemplate, Job, OraclePolicy, collect, episode_maker
from healthgym.tasks import load_suite


@pytest.fixture(scope="session")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("domains") / "fever_clinic"
    new_domain(folder)
    return load_suite(str(folder))


@pytest.fixture(scope="session")
def make_episode(suite):
    return episode_maker(suite, profile="bare")


@pytest.fixture(scope="session")
def jobs(suite):
    return [Job(task_id, group) for group, task_id in enumerate(suite.ids(split="train")[:8])]


@pytest.fixture(scope="session")
def tokenizer(suite, make_episode, jobs):
    from healthgym.training.tiny_model import train_tokenizer

    texts = [
        str(m.get("raw") or m["content"]) for t in collect(jobs, OraclePolicy(suite), make_episode) for m in t.messages
    ]
    return train_tokenizer(texts, 400)


@pytest.fixture(scope="session")
def template(tokenizer):
    return ChatTemplate(tokenizer)


@pytest.fixture
def model(tokenizer):
    from healthgym.training.config import TinyModel
    from healthgym.training.tiny_model import build_tiny_model

    spec = TinyModel(hidden_size=32, intermediate_size=64, layers=2, heads=4, kv_heads=2, max_positions=2048)
    return build_tiny_model(spec, tokenizer, seed=0)


@pytest.fixture(scope="session")
def dressed(tokenizer):
    """Return a function that gives a copy of the tokenizer another family's template and marks."""
    import copy

    def dress(name_or_source, eos, *marks):
        import trl

        path = Path(trl.__file__).parent / "chat_templates" / f"{name_or_source}.jinja"
        copied = copy.deepcopy(tokenizer)
        copied.chat_template = path.read_text(encoding="utf-8") if "{" not in name_or_source else name_or_source
        extra = [mark for mark in (eos, *marks) if mark not in copied.get_vocab()]
        copied.add_special_tokens({"additional_special_tokens": extra}, replace_extra_special_tokens=False)
        copied.bos_token = copied.bos_token or copied.pad_token
        copied.eos_token = eos
        return copied

    return dress
