"""Files of questions in the data sets' own formats, whole and broken."""

import csv
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.benchmarks import load_benchmark
from healthgym.evaluation.items import Item

MEDQA = {
    "question": "Which vitamin is made in the skin?", "answer": "Vitamin D",
    "options": {"A": "Vitamin A", "B": "Vitamin C", "C": "Vitamin D", "D": "Vitamin K"}, "meta_info": "step1", "answer_idx": "C",
    "metamap_phrases": ["vitamin", "skin"],
}  # fmt: skip
MEDMCQA = {
    "id": "q-1", "question": "Which ion is high in cells?", "opa": "Sodium", "opb": "Potassium", "opc": "Chloride", "opd": "Calcium",
    "cop": 1, "choice_type": "single", "exp": "It is pumped in.", "subject_name": "Physiology", "topic_name": None,
}  # fmt: skip
PUBMEDQA = {
    "QUESTION": "Does rest help?", "CONTEXTS": ["Forty people rested.", "Half were better."], "LABELS": ["METHODS", "RESULTS"],
    "MESHES": [], "YEAR": "2000", "final_decision": "maybe", "LONG_ANSWER": "Perhaps.",
}  # fmt: skip
MMLU = ["How many chambers has the human heart?", "two", "three", "four", "five", "C"]
SUBJECTS = (
    "anatomy",
    "clinical_knowledge",
    "college_biology",
    "college_medicine",
    "medical_genetics",
    "professional_medicine",
)
OWN = {"id": "one", "question": "Which is a sugar?", "options": {"A": "Glucose", "B": "Gluten"}, "answer": "A"}


def lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def items(name: str, path: Path | None, **words: Any) -> list[Item]:
    return list(load_benchmark(name, Source(path=path, **words)).items())


def refused(name: str, path: Path | None, **words: Any) -> str:
    with pytest.raises(ConfigError) as error:
        items(name, path, **words)
    return str(error.value)


def mmlu_folder(folder: Path, rows: list[list[str]] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    for subject in SUBJECTS:
        with (folder / f"{subject}_test.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows or [MMLU])
    return folder


def test_medqa_lines_are_read(tmp_path: Path):
    (item,) = items("medqa", lines(tmp_path / "test.jsonl", [MEDQA]))
    assert item.content["question"] == MEDQA["question"] and item.content["answer"] == "C"
    assert item.content["options"] == MEDQA["options"] and item.strata == {"subset": "step1"}


def test_medqa_in_the_form_with_endings_is_read(tmp_path: Path):
    record = {"id": "dev-7", "sent1": "Which is a bone?", "sent2": "", **{f"ending{n}": w for n, w in enumerate(["rib", "liver", "lung", "eye"])}, "label": 0}  # fmt: skip
    (item,) = items("medqa", lines(tmp_path / "test.jsonl", [record]))
    assert item.id == "dev-7" and item.content["options"]["A"] == "rib" and item.content["answer"] == "A"


def test_medqa_whose_answer_is_not_the_option_it_names_is_refused(tmp_path: Path):
    message = refused("medqa", lines(tmp_path / "test.jsonl", [MEDQA, {**MEDQA, "answer": "Vitamin K"}]))
    assert "test.jsonl, line 2" in message and "Vitamin K" in message


def test_medmcqa_of_the_hub_counts_from_zero(tmp_path: Path):
    path = lines(tmp_path / "dev.jsonl", [MEDMCQA, {**MEDMCQA, "id": "q-2", "cop": 0}])
    first, second = items("medmcqa", path)
    assert first.content["answer"] == "B" and second.content["answer"] == "A"  # 1 and 0 of sodium, potassium
    assert first.strata == {"subset": "Physiology", "choice_type": "single"}


def test_medmcqa_of_the_original_file_counts_from_one(tmp_path: Path):
    path = lines(tmp_path / "dev.json", [MEDMCQA, {**MEDMCQA, "id": "q-2", "cop": 4}])
    first, second = items("medmcqa", path)
    assert first.content["answer"] == "A" and second.content["answer"] == "D"


def test_medmcqa_that_does_not_tell_where_it_counts_from_has_to_be_told(tmp_path: Path):
    path = lines(tmp_path / "dev.json", [MEDMCQA, {**MEDMCQA, "id": "q-2"}])
    assert "--set cop=0 or --set cop=1" in refused("medmcqa", path)
    assert items("medmcqa", path, options={"cop": 0})[0].content["answer"] == "B"
    assert items("medmcqa", path, options={"cop": 1})[0].content["answer"] == "A"


def test_medmcqa_that_counts_both_ways_is_two_files_in_one(tmp_path: Path):
    records = [{**MEDMCQA, "cop": 0}, {**MEDMCQA, "id": "q-2", "cop": 4}]
    assert "mixed" in refused("medmcqa", lines(tmp_path / "dev.json", records))


@pytest.mark.parametrize(
    ("cop", "word"), [(-1, "test split"), (None, "test split"), (7, "0 to 3"), ("b", "0 to 3"), (True, "0 to 3")]
)
def test_medmcqa_without_an_answer_is_refused(tmp_path: Path, cop: Any, word: str):
    message = refused(
        "medmcqa", lines(tmp_path / "t.json", [{**MEDMCQA, "cop": 0}, {**MEDMCQA, "id": "q-2", "cop": cop}])
    )
    assert "t.json, line 2" in message and word in message


def test_cop_that_contradicts_the_file_is_refused(tmp_path: Path):
    path = lines(tmp_path / "dev.json", [{**MEDMCQA, "cop": 4}, {**MEDMCQA, "id": "q-2"}])
    assert "contradicts" in refused("medmcqa", path, options={"cop": 0})


def test_mmlu_is_read_from_a_folder_of_csv_files_without_header(tmp_path: Path):
    found = items("mmlu_medical", mmlu_folder(tmp_path / "test"))
    assert [item.strata["subset"] for item in found] == list(SUBJECTS)
    assert found[0].content["options"]["C"] == "four" and found[0].content["answer"] == "C"
    assert {item.cluster for item in found} == {found[0].id}  # one question six times: one cluster


def test_mmlu_is_read_from_rows_of_the_hub(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for subject in SUBJECTS:
        (tmp_path / subject).mkdir()
        table = pyarrow.Table.from_pylist(
            [{"question": MMLU[0], "subject": subject, "choices": MMLU[1:5], "answer": 2}]
        )
        parquet.write_table(table, tmp_path / subject / "test-00000-of-00001.parquet")
    found = items("mmlu_medical", tmp_path)
    assert len(found) == 6 and found[3].content["answer"] == "C"
    (tmp_path / "anatomy" / "test-00000-of-00001.parquet").write_bytes(b"half")
    assert "cannot be read as parquet" in refused("mmlu_medical", tmp_path)


def test_mmlu_without_one_of_its_subjects_is_refused(tmp_path: Path):
    (mmlu_folder(tmp_path / "test") / "medical_genetics_test.csv").unlink()
    assert "medical_genetics" in refused("mmlu_medical", tmp_path / "test")


def test_a_csv_line_with_too_few_fields_is_named(tmp_path: Path):
    message = refused("mmlu_medical", mmlu_folder(tmp_path / "test", [MMLU, MMLU[:4]]))
    assert "anatomy_test.csv, line 2: 4 fields, expected 6" in message


def test_a_csv_file_of_no_medical_subject_is_refused(tmp_path: Path):
    (tmp_path / "astronomy_test.csv").write_text(",".join(MMLU), encoding="utf-8")
    assert "tells no medical subject" in refused("mmlu_medical", tmp_path / "astronomy_test.csv")


def pubmedqa_folder(folder: Path, truth: dict[str, str] | None) -> Path:
    (folder / "ori_pqal.json").write_text(json.dumps({"11": PUBMEDQA, "12": {**PUBMEDQA, "final_decision": "yes"}}))
    if truth is not None:
        (folder / "test_ground_truth.json").write_text(json.dumps(truth))
    return folder


def test_pubmedqa_takes_the_rows_of_its_truth(tmp_path: Path):
    (item,) = items("pubmedqa", pubmedqa_folder(tmp_path, {"12": "yes"}))
    assert item.id == "pubmedqa-12" and item.content["context"] == "Forty people rested.\nHalf were better."
    assert list(item.content["options"]) == ["yes", "no", "maybe"]
    assert len(items("pubmedqa", tmp_path, split="all")) == 2


def test_pubmedqa_without_its_truth_says_what_to_do(tmp_path: Path):
    message = refused("pubmedqa", pubmedqa_folder(tmp_path, None))
    assert "test_ground_truth.json" in message and "--split all" in message


def test_pubmedqa_whose_files_disagree_is_refused(tmp_path: Path):
    assert "key 12" in refused("pubmedqa", pubmedqa_folder(tmp_path, {"12": "no"}))
    assert "do not belong together" in refused("pubmedqa", pubmedqa_folder(tmp_path, {"13": "no"}))


def test_own_questions_need_a_file():
    with pytest.raises(ConfigError, match="Give your questions with --data"):
        load_benchmark("my_questions")


def test_where_the_data_comes_from_is_told(tmp_path: Path):
    assert "GBaker/MedQA-USMLE-4-options" in load_benchmark("medqa").data  # type: ignore[attr-defined]
    assert load_benchmark("medqa", Source(path=tmp_path)).data == "there"  # type: ignore[attr-defined]


def test_own_questions_need_no_code(tmp_path: Path):
    records = [OWN, {**OWN, "id": 2, "options": ["Salt", "Honey"], "answer": "B", "context": "At breakfast.", "subset": "food"},
               {"id": "three", "question": "Is water wet?", "answer": "yes"}]  # fmt: skip
    first, second, third = items("my_questions", lines(tmp_path / "own.jsonl", records))
    assert first.content["options"] == {"A": "Glucose", "B": "Gluten"}
    assert second.id == "2" and second.content["options"]["B"] == "Honey" and second.strata == {"subset": "food"}
    assert list(third.content["options"]) == ["yes", "no", "maybe"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "C"}, "the answer 'C' is none of the options A, B"), ({"options": {}}, "at least two options"),
        ({"options": {"A": "x"}}, "at least two options"), ({"options": {"A": "x", "B": " "}}, "option B must be a text"),
        ({"options": {"A": "x", "B": 3}}, "option B must be a text"), ({"question": ""}, "the question must be a text"),
        ({"optoins": {}}, "Did you mean 'options'"), ({"id": ""}, "id must be"), ({"context": 3}, "the context must be"),
        ({"id": "zero"}, "the id 'zero' was already used at own.jsonl, line 1"), ({"options": "AB"}, "at least two options"),
    ],
)  # fmt: skip
def test_a_broken_question_is_named_by_its_line(tmp_path: Path, change: dict[str, Any], message: str):
    found = refused("my_questions", lines(tmp_path / "own.jsonl", [{**OWN, "id": "zero"}, {**OWN, **change}]))
    assert "own.jsonl, line 2" in found and message in found


@pytest.mark.parametrize("name", ["medqa", "medmcqa", "mmlu_medical", "pubmedqa", "my_questions"])
def test_files_that_cannot_be_used_say_what_is_wrong(tmp_path: Path, name: str):
    assert "No data at" in refused(name, tmp_path / "absent.jsonl")
    (tmp_path / "table.xlsx").write_bytes(b"")
    assert ".jsonl, .json, .csv, .tsv, .parquet" in refused(name, tmp_path / "table.xlsx")
    (tmp_path / "empty.jsonl").write_text("\n")
    assert "holds no records" in refused(name, tmp_path / "empty.jsonl")
    (tmp_path / "broken.jsonl").write_text('{"id": 1}\n{"id": \n')
    assert "broken.jsonl, line 2: no JSON" in refused(name, tmp_path / "broken.jsonl")
    (tmp_path / "list.jsonl").write_text("[1]\n")
    assert "line 1: expected an object, got list" in refused(name, tmp_path / "list.jsonl")
    (tmp_path / "latin.jsonl").write_bytes('{"id": "é"}'.encode("latin-1"))
    assert "not UTF-8" in refused(name, tmp_path / "latin.jsonl")
    whole = gzip.compress(b'{"id": 1}\n' * 50)
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[:-10])
    assert "no whole gzip file" in refused(name, tmp_path / "cut.jsonl.gz")


@pytest.mark.parametrize("name", ["medqa", "medmcqa", "mmlu_medical", "pubmedqa"])
def test_wrong_columns_and_foreign_files_are_refused(tmp_path: Path, name: str):
    assert "fit none of" in refused(name, lines(tmp_path / "a.jsonl", [{"text": "hello", "label": 1}]))
    pack = {"id": "1", "benchmark": "another", "question": "Q?", "options": OWN["options"], "answer": "A"}
    assert "belongs to benchmark 'another'" in refused(name, lines(tmp_path / "b.jsonl", [pack]))


@pytest.mark.parametrize("name", ["medqa", "medmcqa", "mmlu_medical", "pubmedqa"])
def test_a_hub_out_of_reach_says_how_to_get_the_file(monkeypatch: pytest.MonkeyPatch, name: str):
    datasets = pytest.importorskip("datasets")

    def fail(*args: Any, **words: Any) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    message = refused(name, None)
    assert "no route" in message and "--data PATH" in message


def test_rows_of_the_hub_are_read(monkeypatch: pytest.MonkeyPatch):
    datasets = pytest.importorskip("datasets")
    rows = {
        "GBaker/MedQA-USMLE-4-options": MEDQA, "openlifescienceai/medmcqa": MEDMCQA,
        "cais/mmlu": {"question": MMLU[0], "subject": "anatomy", "choices": MMLU[1:5], "answer": 2},
        "qiaojin/PubMedQA": {"pubid": 11, "question": "Q?", "context": {"contexts": ["a", "b"]}, "final_decision": "no"},
    }  # fmt: skip
    monkeypatch.setattr(datasets, "load_dataset", lambda name, config, split: [rows[name]])
    assert items("medqa", None)[0].content["answer"] == "C"
    assert items("medmcqa", None)[0].content["answer"] == "B"  # the hub counts from 0
    assert [item.strata["subset"] for item in items("mmlu_medical", None)] == list(SUBJECTS)
    assert items("pubmedqa", None)[0].content["context"] == "a\nb"


def test_an_unknown_option_names_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean 'reading'"):
        load_benchmark("medqa", Source(options={"readin": "both"}))


@pytest.mark.skipif("HEALTHGYM_DATA" not in os.environ, reason="needs the data packs")
@pytest.mark.parametrize(
    ("name", "file", "n", "clusters", "majority"),
    [("medqa", "medqa_us_test", 1273, 1273, 353), ("medmcqa", "medmcqa_dev", 4183, 4183, 1348),
     ("mmlu_medical", "mmlu_medical", 1089, 1011, 352), ("pubmedqa", "pubmedqa_test", 500, 500, 276)],
)  # fmt: skip
def test_the_packs_are_read_whole(name: str, file: str, n: int, clusters: int, majority: int):
    benchmark = load_benchmark(
        name, Source(path=Path(os.environ["HEALTHGYM_DATA"]) / "benchmarks" / f"{file}.jsonl.gz")
    )
    found = benchmark.items()
    assert len(found) == n and len({item.cluster for item in found}) == clusters
    assert benchmark.floors(found)[0].score == majority / n
