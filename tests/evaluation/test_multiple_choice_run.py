"""Multiple choice from a file of questions to rows and a summary, with a small model, adapters and the runner."""

import json

import pytest
from tiny import make_model, make_tokenizer

from healthgym.evaluation.benchmark import Settings, Source
from healthgym.evaluation.benchmarks import load_benchmark
from healthgym.evaluation.candidate import Options
from healthgym.evaluation.likelihoods import transformers_likelihoods
from healthgym.evaluation.rows import read_rows
from healthgym.evaluation.runner import evaluate
from healthgym.evaluation.transformers_candidate import open_transformers


@pytest.fixture
def candidate(tmp_path):
    tokenizer = make_tokenizer()
    make_model(tokenizer).save_pretrained(str(tmp_path / "model"))
    tokenizer.save_pretrained(str(tmp_path / "model"))
    made = open_transformers(tmp_path / "model")
    yield made
    made.close()


@pytest.fixture
def questions(tmp_path):
    lines = [
        {
            "id": "one",
            "question": "pain : yes",
            "options": {"yes": "yes", "no": "no", "maybe": "maybe"},
            "answer": "yes",
        },
        {
            "id": "two",
            "question": "fever : right",
            "options": {"right": "pain", "wrong": "fever fever"},
            "answer": "wrong",
        },
        {
            "id": "three",
            "question": "fever : right",
            "options": {"right": "pain", "wrong": "fever fever"},
            "answer": "wrong",
        },
    ]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return load_benchmark("my_questions", Source(path=tmp_path / "own.jsonl"))


def test_questions_become_rows_and_a_summary_and_are_not_asked_twice(candidate, questions, tmp_path):
    settings = Settings(mode="text", max_tokens=4, options={"reading": "both", "blind": True})
    found = evaluate(questions, candidate, settings, tmp_path / "out")
    rows = {row.id: row for row in read_rows(tmp_path / "out" / "rows.jsonl")}
    assert found.record["n"] == 3 and not found.is_partial and len(rows) == 3
    likely = {"letter", "option_text", "option_text_norm", "blind", "no_options"}
    assert rows["two"].scores.keys() - {"generated"} == likely  # "generated" where a written answer could be read
    assert rows["two"].output
    assert rows["two"].detail["logps"]["text"] == pytest.approx(rows["three"].detail["logps"]["text"])
    assert rows["three"].cluster == "two"  # word for word the same question
    assert found.record["score"] == sum(row.score for row in rows.values()) / 3
    before = (tmp_path / "out" / "rows.jsonl").read_bytes()
    evaluate(questions, candidate, settings, tmp_path / "out")
    assert (tmp_path / "out" / "rows.jsonl").read_bytes() == before


def test_adapters_take_part_in_likelihoods():
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, lora=True)
    request = Options(0, [4, 5, 6], [[7, 8], [9]])
    scores = []
    likelihoods = transformers_likelihoods(model, tokenizer)
    likelihoods([request], lambda one: scores.append(one.logprobs))
    for name, weights in model.named_parameters():
        if "lora_B" in name:
            weights.data.fill_(0.1)
    likelihoods([request], lambda one: scores.append(one.logprobs))
    assert scores[0] != pytest.approx(scores[1], abs=1e-3)
