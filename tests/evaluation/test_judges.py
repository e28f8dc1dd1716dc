"""Judges read three verdicts and refuse to guess."""

import pytest
from answering import candidate, text_in

from healthgym.errors import ConfigError, GraderError
from healthgym.evaluation.judges import ChatJudge, NliJudge

WORDS = ["they", "interact", "ask", "first", "water", "helps", ".", "no", "yes"]


def nli_model(labels: dict[int, str], bias: list[float]):
    """A tiny BERT that gives every pair the label of its greatest bias, in 24 positions."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
            max_position_embeddings=24, id2label=labels, label2id={name: i for i, name in labels.items()},
        )
    )  # fmt: skip
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor(bias))
    return model, tokenizer


LABELS = {0: "CONTRADICTION", 1: "ENTAILMENT", 2: "NEUTRAL"}


@pytest.mark.parametrize(("place", "verdict"), [(0, "contradicts"), (1, "entails"), (2, "neutral")])
def test_an_nli_judge_maps_labels_by_name(place, verdict):
    judge = NliJudge(*nli_model(LABELS, [float(i == place) for i in range(3)]), name="tiny")
    assert judge("q", "they interact . ask first .", ["they interact", "water helps"]) == [verdict, verdict]


def test_a_long_answer_is_read_in_windows_of_whole_sentences():
    judge = NliJudge(*nli_model(LABELS, [0.0, 1.0, 0.0]), name="tiny")
    # 24 positions less 2 of the statement and 3 marks leave 19 tokens: six sentences of 3 tokens.
    windows = judge.windows("ask first. " * 8, "water helps")
    assert windows == [" ".join(["ask first."] * 6), " ".join(["ask first."] * 2)]
    assert judge("q", "ask first. " * 200 + "ask " * 60, ["water helps"]) == ["entails"]
    assert judge("q", "", ["water helps"]) == ["entails"]


def test_entailment_in_one_window_outweighs_a_contradiction_in_another():
    judge = NliJudge(*nli_model(LABELS, [0.0, 1.0, 0.0]), name="tiny")
    seen = iter([[0, 1], [0, 2]])
    judge._labels = lambda premises, hypotheses: next(seen)
    assert judge("q", "ask first. " * 8, ["water helps"]) == ["entails"]
    assert judge("q", "ask first. " * 8, ["water helps"]) == ["contradicts"]


@pytest.mark.parametrize("labels", [{0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, {0: "entailment", 1: "not_entailment"}])
def test_a_model_whose_labels_do_not_name_the_three_verdicts_is_refused(labels):
    with pytest.raises(ConfigError, match="a judge needs entailment, contradiction and neutral"):
        NliJudge(*nli_model(labels, [0.0] * len(labels)), name="tiny")


def test_an_nli_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="judge: no NLI model at"):
        NliJudge.load(tmp_path / "absent")


def test_a_chat_judge_asks_once_for_each_statement_and_reads_its_word():
    replies = {"They interact.": "The verdict is: **entails**.", "Water helps.": "contradicted", "Ask.": "Neutral."}
    who = candidate(
        lambda messages: next(reply for text, reply in replies.items() if f"Statement: {text}" in text_in(messages))
    )
    assert ChatJudge(who)("Both?", "They do.", list(replies)) == ["entails", "contradicts", "neutral"]
    assert all("Question: Both?" in text_in(messages) for messages in who.policy.asked)


@pytest.mark.parametrize("said", ["", "It entails and contradicts.", "Maybe."])
def test_a_chat_judge_that_commits_to_nothing_is_an_error(said):
    with pytest.raises(GraderError, match="expected entails, contradicts or neutral"):
        ChatJudge(candidate(said))("q", "a", ["s"])
