"""`healthgym eval` on a real, tiny model: results for people and scripts, resuming, selection, and mistakes."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from tiny import make_model, make_tokenizer

    folder, tokenizer = tmp_path_factory.mktemp("models") / "tiny", make_tokenizer()
    make_model(tokenizer).save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder


@pytest.fixture
def asked(model, fever):
    return (
        "eval", model, "--suite", "gym", "--set", f"domains={fever}", "--profile", "bare", "--max-tokens", 4,
        "--max-turns", 2, "--limit", 2,
    )  # fmt: skip


def test_json_holds_suite_n_interval_counts_floors_and_hashes(run, asked, tmp_path):
    found = run(*asked, "--out", tmp_path / "out", "--seeds", 2, "--json")
    assert found.code == 0
    assert (found.json["suite"], found.json["expected"], found.json["partial"]) == ("gym", 4, False)
    assert set(found.json["counts"]) >= {"degenerate", "refused", "truncated", "grader_error", "infra_error"}
    assert found.json["hashes"].keys() >= {"weights", "chat_template", "tokenizer", "items", "tools"}
    assert found.json["floors"][0]["name"] == "silent" and "ci" in found.json
    assert found.json["folder"] == str(tmp_path / "out")


def test_the_same_command_goes_on_and_another_is_refused_until_restart(run, asked, tmp_path):
    out = tmp_path / "out"
    assert run(*asked, "--out", out).code == 0
    before = (out / "rows.jsonl").read_bytes()
    again = run(*asked, "--out", out)
    assert again.code == 0 and "gym agentic" in again.out and (out / "rows.jsonl").read_bytes() == before
    other = run(*asked, "--out", out, "--temperature", 0.5)
    assert other.code == 2 and "candidate.sampling.temperature was 0.0, now 0.5" in " ".join(other.err.split())
    assert run(*asked, "--out", out, "--temperature", 0.5, "--restart").code == 0
    assert (tmp_path / "out.old-1" / "rows.jsonl").read_bytes() == before


def test_what_was_asked_once_is_taken_from_the_cache(run, asked, tmp_path):
    first = run(*asked, "--out", tmp_path / "a", "--cache", tmp_path / "kept", "--json")
    again = run(*asked, "--out", tmp_path / "b", "--cache", tmp_path / "kept", "--json")
    assert first.code == again.code == 0 and [path.name for path in (tmp_path / "kept").iterdir()] == [
        "responses.sqlite"
    ]
    assert again.json["score"] == first.json["score"] and int(again.json["served"]["cached_answers"]) > 0


def test_a_stored_evaluation_is_rescored_without_the_model(run, asked, tmp_path):
    run(*asked, "--out", tmp_path / "out")
    found = run("eval", "--rescore", tmp_path / "out", "--json")
    assert found.code == 0 and found.json["changes"]["changed"] == 0
    assert Path(found.json["rows"]).name == "rows_rescored.jsonl"


@pytest.mark.slow
def test_sigterm_leaves_whole_rows_a_summary_and_the_way_on(run, asked, tmp_path):
    out = tmp_path / "out"
    words = [*map(str, asked), "--seeds", "200", "--in-flight", "1", "--out", str(out)]
    command = [sys.executable, "-c", "from healthgym.cli.main import main; main()", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not (out / "rows.jsonl").is_file():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.terminate()
    told = " ".join(process.communicate(timeout=120)[1].split())
    result = json.loads((out / "result.json").read_text())
    rows = (out / "rows.jsonl").read_bytes().splitlines()
    assert process.returncode == 143, told
    assert f"Stopped by SIGTERM with {len(rows)} of 400 rows" in told and "the same command makes the others" in told
    assert result["partial"] and sum(result["counts"].values()) == len([json.loads(row) for row in rows]) < 400


def test_a_run_s_checkpoints_are_evaluated_and_chosen_from(run, model, fever, tmp_path):
    folder = tmp_path / "run"
    for step in (2, 3, 4):
        shutil.copytree(model, folder / "checkpoints" / f"checkpoint-{step}")
    weights = folder / "checkpoints" / "checkpoint-4" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    config = {
        "model": {"path": str(model)},
        "env": {"domains": [str(fever)], "prompt_profile": "bare", "max_turns": 2},
        "rollout": {"max_tokens_per_turn": 4},
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    found = run("eval", "--run", folder, "--every", 2, "--limit", 2, "--json")
    assert found.code == 0, found.err
    # An untrained model submits nothing: 0 of 2 at step 2, cut off by the token limit, which the rule's cap refuses.
    assert [row["step"] for row in found.json["rows"]] == [2] and found.json["split"] == "val"
    assert "cut off" in found.json["skipped"]["4"]
    assert found.json["choice"]["step"] in (2, None) and found.json["why"]
    again = run("eval", "--run", folder, "--every", 2, "--limit", 2, "--json")
    assert again.json["rows"] == found.json["rows"] and again.json["results"] == []
    other = run("eval", "--run", folder, "--every", 2, "--limit", 2, "--engine-set", "top_p=0.5", "--json")
    assert other.code == 2 and "top_p was 1.0, now 0.5" in other.json["error"]  # other rows, not the stored ones


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("eval",), "Give a checkpoint"),
        (("eval", "nowhere", "--suite", "gym"), "there is no folder nowhere"),
        (("eval", "MODEL", "--suite", "gmy"), "Did you mean 'gym'"),
        (("eval", "MODEL", "--suite", "gym", "--set", "domains=FEVER", "--mode", "text"), "gym has no mode 'text'"),
        (("eval", "MODEL", "--suite", "gym", "--set", "domains=FEVER", "--engine", "vlm"), "Did you mean 'vllm'"),
        (("eval", "MODEL", "--suite", "gym", "--set", "domains"), "expected NAME=VALUE"),
        (
            ("eval", "MODEL", "--suite", "gym", "--split", "tset"),
            "gym has the splits test, train, val, test_ood, got 'tset'",
        ),
        (("eval", "--run", "MODEL"), "is no training run"),
    ],
)
def test_mistakes_are_told_with_the_remedy_before_a_model_is_loaded(run, model, fever, words, message):
    found = run(*(word.replace("MODEL", str(model)).replace("FEVER", str(fever)) for word in words))
    assert found.code == 2 and message in " ".join(found.err.split())


def test_broken_data_is_told_of_before_a_model_is_loaded(run, tmp_path):
    (tmp_path / "own.jsonl").write_text(
        '{"id": "a", "question": "?", "options": {"A": "x", "B": "y"}, "answer": "C"}\n'
    )
    asked = ("eval", "model", "--engine", "openai", "--endpoint", "http://127.0.0.1:9", "--suite", "my_questions")
    found = run(*asked, "--data", tmp_path / "own.jsonl")
    assert found.code == 2 and "own.jsonl" in found.err and "127.0.0.1" not in found.err


def test_the_list_names_every_benchmark_with_modes_data_splits_and_options(run):
    found = {one["name"]: one for one in run("eval", "--list", "--json").json}
    assert {"gym", "medqa", "ehr_eicu", "slake_open", "k_qa_golden", "safety_prompts"} <= set(found)
    gym = found["gym"]
    assert (gym["modes"], gym["data"], gym["splits"]) == (["agentic"], "included", ["test", "train", "val", "test_ood"])
    assert gym["options"]["domains"] and gym["page"] == "docs/evaluation.md"


def test_the_list_fits_80_columns_and_tells_of_one_suite_how_to_get_its_data(run):
    shown = run("eval", "--list").out
    assert "ehr_mimic3" in shown and max(map(len, shown.splitlines())) <= 80
    one = run("eval", "--list", "--suite", "ehr_mimic3").out
    assert "own credentialed download" in " ".join(one.split()) and "draw_seed" in one
