"""Every option of `healthgym eval` that would change nothing is refused in one line before a model is loaded."""

import json

import pytest

NOWHERE = ("--engine", "openai", "--endpoint", "http://127.0.0.1:9")
"""An engine that fails as soon as it is opened: a refusal that comes first does not name its address."""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    own = {"id": "a", "question": "Which?", "options": {"A": "x", "B": "y"}, "answer": "A"}
    (folder / "own.jsonl").write_text(json.dumps(own) + "\n")
    pack = {"id": "m", "benchmark": "medmcqa_dev", "question": "?", "options": ["x", "y"], "answer": "A"}
    (folder / "pack.jsonl").write_text(json.dumps(pack) + "\n")
    slake = {
        "qid": 1, "img_name": "a.jpg", "question": "Is it?", "answer": "Yes", "answer_type": "CLOSED", "q_lang": "en",
    }  # fmt: skip
    (folder / "test.json").write_text(json.dumps([slake]))
    return folder


OWN = ("eval", "m", *NOWHERE, "--suite", "my_questions", "--data", "DATA/own.jsonl")
AGENTIC = (*OWN, "--mode", "agentic")
GYM = ("eval", "m", *NOWHERE, "--suite", "gym", "--set", "domains=FEVER")
SLAKE = ("eval", "m", *NOWHERE, "--suite", "slake_closed", "--data", "DATA/test.json", "--set", "images=no")


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (
            ("eval", "--list", "--engine", "vllm", "--limit", "3"),
            "--limit, --engine would change nothing: --list takes",
        ),
        (("eval", "m", "--list"), "CHECKPOINT would change nothing: --list takes"),
        (("eval", "--rescore", "DATA", "--seeds", "2"), "--seeds would change nothing: --rescore takes"),
        (("eval", "m", "--rescore", "DATA"), "CHECKPOINT would change nothing"),
        (("eval", "m", "--suite", "gym", "--every", "1"), "--every would change nothing: --every and --follow go"),
        (("eval", "--run", "DATA", *NOWHERE), "--run evaluates the checkpoints of a run with --engine"),
        ((*OWN, "--split", "test"), "my_questions has no splits"),
        ((*SLAKE, "--split", "val"), "--split would change nothing: of slake_closed a split is a file"),
        ((*SLAKE, "--set", "max_side=64"), "--set max_side would change nothing in slake_closed: images=no"),
        ((*SLAKE, "--max-turns", "2"), "--max-turns would change nothing: slake_closed: nothing is played"),
        ((*OWN, "--profile", "bare"), "--profile would change nothing: my_questions: nothing is played"),
        ((*OWN, "--index", "DATA"), "--index would change nothing: my_questions: nothing is played"),
        ((*OWN, "--max-tokens", "9"), "--max-tokens would change nothing: my_questions: likelihoods are read"),
        ((*OWN, "--temperature", "0.7"), "--temperature would change nothing: my_questions: likelihoods are read"),
        ((*OWN, "--in-flight", "2"), "--in-flight would change nothing: my_questions: likelihoods are read"),
        ((*OWN, "--seeds", "2"), "--seeds would change nothing: my_questions: likelihoods are read"),
        ((*OWN, "--cache", "DATA"), "--cache would change nothing: my_questions: likelihoods are read"),
        ((*OWN, "--set", "kb=builtin"), "--set kb would change nothing in my_questions: it is of agentic mode"),
        ((*AGENTIC, "--set", "blind=yes"), "--set blind would change nothing in my_questions: it is of text mode"),
        ((*OWN, "--set", "reading=generate", "--set", "option_text=yes"), "--set option_text would change nothing"),
        ((*OWN, "--set", "reading=generate", "--engine-set", "top_p=0.5"), "at temperature 0 nothing is drawn"),
        ((*GYM, "--encoder", "minilm"), "--encoder would change nothing: it names the encoder of an index"),
        ((*GYM, "--data", "FEVER"), "both name domains"),
        ((*GYM, "--temperature", "1", "--engine-set", "temperature=0"), "--temperature and --engine-set temperature"),
        ((*GYM, "--engine-set", "model=other"), "Two models were named"),
        ((*GYM, "--engine-set", "tokenizer=x", "--images"), "With a tokenizer turns go out as tokens"),
        (
            ("eval", "m", *NOWHERE, "--suite", "safety_actions", "--set", "reward={preset: paper}"),
            "safety_actions has no option 'reward'",
        ),
        (("eval", "m", *NOWHERE, "--suite", "medmcqa", "--set", "cop=1"), "cop is of a file"),
        (
            ("eval", "m", *NOWHERE, "--suite", "medmcqa", "--data", "DATA/pack.jsonl", "--set", "cop=1"),
            "a pack, which has no column cop",
        ),
        (("eval", "m", *NOWHERE, "--suite", "pubmedqa", "--split", "test"), "the hub's labelled rows are not split"),
        (("eval", "m", *NOWHERE, "--suite", "pubmedqa", "--set", "truth=x"), "truth lists the test rows"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused_before_a_model_is_loaded(run, data, fever, words, refused):
    found = run(*(word.replace("DATA", str(data)).replace("FEVER", str(fever)) for word in words))
    said = " ".join(found.err.split())
    assert found.code == 2 and refused in said and "127.0.0.1" not in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "a knowledge base, and none was given. Give --index DIR"),
        (("--set", "kb=mine"), "kb must be 'builtin'"),
        (("--set", "kb=builtin", "--set", "tools=search_evidense"), "Did you mean 'search_evidence'"),
        (("--set", "kb=builtin", "--set", "tools_of=psychiatri"), "Did you mean 'psychiatry'"),
        (("--set", "kb=builtin", "--set", "audited=perhaps"), "audited must be yes or no"),
    ],
)
def test_agentic_mode_is_told_what_it_lacks_before_a_model_is_loaded(run, data, words, told):
    found = run(*(word.replace("DATA", str(data)) for word in AGENTIC), *words)
    said = " ".join(found.err.split())
    assert found.code == 2 and told in said and "127.0.0.1" not in said


def test_an_option_that_one_of_several_benchmarks_uses_is_taken(run, data, fever):
    asked = ("eval", "m", *NOWHERE, "--engine-set", "timeout_s=1", "--suite", "gym,safety_prompts", "--max-turns", 2)
    assert "would change nothing" not in run(*asked).err


def test_a_base_beside_a_whole_model_is_refused(run, tmp_path):
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
    from tiny import make_model, make_tokenizer

    tokenizer = make_tokenizer()
    make_model(tokenizer).save_pretrained(str(tmp_path / "whole"))
    tokenizer.save_pretrained(str(tmp_path / "whole"))
    found = run("eval", tmp_path / "whole", "--base", tmp_path / "other", "--suite", "gym")
    assert found.code == 2 and "it is a whole model, to which --base" in " ".join(found.err.split())


def test_the_data_of_a_domain_goes_before_the_domains_of_the_run(fever, tmp_path):
    from healthgym.cli.eval_request import Request
    from healthgym.evaluation.run_settings import RunSettings

    run = RunSettings(
        settings={}, sampling={}, gym={"domains": ["psychiatry"], "families": ["suicide_risk"]}, index=None, exclude=(),
        encoder=None,
    )  # fmt: skip
    benchmark, _, source = Request(suites=["gym"], data=fever)._prepared("gym", run)
    assert {item.strata["domain"] for item in benchmark.items()} == {"fever"} and source["options"] == {}
