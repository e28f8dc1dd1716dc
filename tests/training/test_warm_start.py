from pathlib import Path

import pytest
import torch
from tiny import YesEnvironment, make_model, make_rows, make_tokenizer

from healthgym.errors import ConfigError
from healthgym.training.teacher_context import HintRenderer
from healthgym.training.warm_start import IGNORED, example_of, warm_start


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


def test_only_tokens_the_assistant_wrote_carry_loss(tokenizer):
    episode = YesEnvironment(tokenizer, make_model(tokenizer))(make_rows(1), 0)[0]
    example = example_of(episode)
    assert example.input_ids == [*episode.prompt_ids, *episode.completion_ids]
    written = [token for token, own in zip(episode.completion_ids, episode.completion_mask, strict=True) if own]
    assert [label for label in example.labels if label != IGNORED] == written
    assert example.labels[: len(episode.prompt_ids)] == [IGNORED] * len(episode.prompt_ids)


def test_a_hinted_example_has_the_hint_before_the_first_turn_and_no_loss_on_it(tokenizer):
    episode = YesEnvironment(tokenizer, make_model(tokenizer))(make_rows(1), 0)[0]
    plain, hinted = example_of(episode), example_of(episode, hint="wrong", renderer=HintRenderer(tokenizer, {}))
    text = tokenizer.decode(hinted.input_ids)
    assert text.index("pain") < text.index("wrong") < text.index("assistant")
    assert hinted.assistant_tokens == plain.assistant_tokens


def test_a_warm_start_teaches_the_demonstrated_turns(tokenizer, tmp_path: Path):
    model = make_model(tokenizer)
    environment = YesEnvironment(tokenizer, model)
    said = tokenizer("yes yes<|im_end|>")["input_ids"]
    script = iter(said * 999)
    environment.sample = lambda ids, generator: (next(script), 0.0)
    examples = [example_of(trajectory) for trajectory in environment(make_rows(6), 0)]
    done = warm_start(model, tokenizer, examples, steps=60, learning_rate=1e-2, batch_size=6, output_dir=tmp_path)
    assert done["loss"] < 0.1 and done["examples"] == 6
    del environment.sample
    fresh = environment(make_rows(6), 1)
    share = sum(trajectory.completion_ids[:3] == said for trajectory in fresh) / 6
    assert share > 0.8
    assert "forward" not in model.__dict__


def test_the_same_seed_gives_the_same_weights(tokenizer, tmp_path: Path):
    def run():
        model = make_model(tokenizer)
        examples = [example_of(t) for t in YesEnvironment(tokenizer, make_model(tokenizer))(make_rows(5), 0)]
        warm_start(model, tokenizer, examples, steps=4, learning_rate=1e-2, batch_size=2, output_dir=tmp_path, seed=3)
        return model.state_dict()

    first, second = run(), run()
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())


def test_demonstrations_that_do_not_fit_are_left_out_and_counted(tokenizer, tmp_path: Path):
    episodes = YesEnvironment(tokenizer, make_model(tokenizer))(make_rows(4), 0)
    examples = [example_of(episode) for episode in episodes]
    limit = min(len(example.input_ids) for example in examples)
    options = {"steps": 1, "learning_rate": 1e-3, "batch_size": 1, "output_dir": tmp_path}
    done = warm_start(make_model(tokenizer), tokenizer, examples, max_length=limit, **options)
    assert done["too_long"] == sum(len(example.input_ids) > limit for example in examples) > 0
    with pytest.raises(ConfigError, match="None of 4 demonstrations fits into 3 tokens"):
        warm_start(make_model(tokenizer), tokenizer, examples, max_length=3, **options)
