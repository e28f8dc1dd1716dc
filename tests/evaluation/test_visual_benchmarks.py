"""Visual benchmarks read their datasets' own formats, show images, and score closed and open questions apart."""

import io
import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from answering import candidate, measured, text_in
from PIL import Image

from healthgym.errors import ConfigError, HealthgymError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.benchmarks import load_benchmark
from healthgym.evaluation.rows import Row, RowFile


def image(path: Path | None = None, shade: int = 7) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (8, 6), shade).save(buffer, "PNG")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(buffer.getvalue())
    return buffer.getvalue()


def rad(qid: int, question: str, answer: str, kind: str, phrase: str = "test_freeform", name: str = "syn1.png") -> dict:
    return {
        "qid": qid, "phrase_type": phrase, "qid_linked_id": "x", "image_case_url": "", "image_name": name,
        "image_organ": "CHEST", "evaluation": "evaluated", "question": question, "question_rephrase": "NULL",
        "question_type": "PRES", "answer": answer, "answer_type": kind,
    }  # fmt: skip


RAD = [
    rad(1, "Is there an effusion?", "Yes", "CLOSED "),
    rad(2, "Is this a CT or an MRI?", "MRI", "CLOSED"),
    rad(3, "Is it a plain film or a CT?", "CT", "CLOSED", phrase="test_para"),
    rad(4, "Where is the mass?", "left upper lobe", "OPEN"),
    rad(5, "Is the heart large?", "No", "CLOSED", phrase="freeform"),
]


@pytest.fixture
def rad_folder(tmp_path: Path) -> Path:
    (tmp_path / "VQA_RAD Dataset Public.json").write_text(json.dumps(RAD), encoding="utf-8")
    image(tmp_path / "VQA_RAD Image Folder" / "syn1.png")
    return tmp_path


def test_vqa_rad_takes_the_test_split_and_keeps_closed_and_open_apart(rad_folder):
    closed = load_benchmark("vqa_rad_closed", Source(path=rad_folder))
    assert [item.id for item in closed.items()] == ["1", "2", "3"]
    assert [item.id for item in load_benchmark("vqa_rad_open", Source(path=rad_folder)).items()] == ["4"]
    train = load_benchmark("vqa_rad_closed", Source(path=rad_folder, split="train"))
    assert [item.id for item in train.items()] == ["5"]
    first = closed.items()[0]
    assert first.strata == {"organ": "CHEST", "about": "PRES", "phrase": "freeform"} and first.cluster == "syn1.png"


def test_closed_answers_are_scored_with_the_image_shown(rad_folder):
    replies = {
        "Is there": "It is hard to say, but yes.",
        "Is this": "CT or MRI",
        "Is it": "The answer is CT, not a film.",
    }
    who = candidate(
        lambda messages: next(reply for start, reply in replies.items() if text_in(messages).startswith(start))
    )
    rows = measured(load_benchmark("vqa_rad_closed", Source(path=rad_folder)), who)
    assert (rows["1"].status, rows["1"].score, rows["1"].prediction, rows["1"].gold) == ("answered", 1.0, "yes", "yes")
    assert (rows["2"].status, rows["2"].score) == ("unparsed", None)
    assert (rows["3"].status, rows["3"].score, rows["3"].prediction) == ("answered", 1.0, "CT")
    blocks = who.policy.asked[0][-1]["content"]
    assert [block["type"] for block in blocks] == ["image", "text"]
    assert blocks[0]["url"].startswith("data:image/png;base64,") and "yes or no" in blocks[1]["text"]


def test_open_answers_have_three_measures(rad_folder):
    rows = measured(load_benchmark("vqa_rad_open", Source(path=rad_folder)), candidate("the upper lobe"))
    # Gold: left upper lobe. Recall 2/3; without "the" precision 2/2, F1 = 2 * 2 / (2 + 3).
    assert rows["4"].score == pytest.approx(2 / 3)
    assert rows["4"].scores == pytest.approx({"exact_match": 0.0, "token_recall": 2 / 3, "token_f1": 0.8})


def test_outputs_without_an_answer_have_their_own_status(rad_folder):
    benchmark = load_benchmark("vqa_rad_open", Source(path=rad_folder))
    for output, status in [
        ("", "unparsed"),
        ("I'm sorry, but I cannot interpret medical images.", "refused"),
        ("mass " * 60, "degenerate"),
        ("left " * 3 + "one two three four five six seven eight nine", "truncated"),
    ]:
        rows = measured(benchmark, candidate(output), max_tokens=10)
        assert (rows["4"].status, rows["4"].score) == (status, None)
    closed = load_benchmark("vqa_rad_closed", Source(path=rad_folder))
    assert measured(closed, candidate("Yes, because of the blunted angle."), max_tokens=2)["1"].status == "answered"
    assert measured(closed, candidate("The costophrenic angle seems"), max_tokens=2)["1"].status == "truncated"


def test_a_candidate_without_eyes_is_refused_unless_it_is_measured_blind(rad_folder, tmp_path):
    with pytest.raises(ConfigError, match="cannot see"):
        measured(load_benchmark("vqa_rad_closed", Source(path=rad_folder)), candidate("yes", sees=False))
    blind = load_benchmark("vqa_rad_closed", Source(path=rad_folder, options={"images": "no"}))
    who = candidate("yes", sees=False)
    rows = measured(blind, who)
    assert all(isinstance(messages[-1]["content"], str) for messages in who.policy.asked)
    options = {"blind_run": str(stored(tmp_path / "blind", *rows.values()))}
    benchmark = load_benchmark("vqa_rad_closed", Source(path=rad_folder, options=options))
    floors = {floor.name: floor.score for floor in benchmark.floors(benchmark.items())}
    # Majority: each answer occurs once in three. Random: 1/2 of yes or no, 1/2 and 1/1 ... of the choices that are named.
    assert floors["majority"] == pytest.approx(1 / 3)
    assert floors["random"] == pytest.approx((1 / 2 + 1 / 2 + 1 / 2) / 3)
    assert floors["blind"] == 1.0  # "yes" answers the first and names no choice in the others
    without = load_benchmark("vqa_rad_closed", Source(path=rad_folder))
    assert {floor.name: floor.score for floor in without.floors(without.items())}["blind"] is None


def stored(folder: Path, *rows: Row) -> Path:
    file = RowFile(folder / "rows.jsonl")
    for row in rows:
        file.append(row)
    file.close()
    return folder


def test_what_is_no_blind_run_of_the_candidate_is_refused_before_anything_is_asked(rad_folder, tmp_path):
    seen = measured(load_benchmark("vqa_rad_closed", Source(path=rad_folder)), candidate("yes"))["1"]
    blind = replace(seen, detail={"images": False})
    other = stored(tmp_path / "other", blind)
    (other / "run.json").write_text(
        json.dumps({"identity": {"candidate": {"hashes": {"weights": "a"}}}}), encoding="utf-8"
    )
    for folder, message in [
        (stored(tmp_path / "seen", seen), "was measured with images"),
        (stored(tmp_path / "strange", replace(blind, id="99")), "no row for these questions"),
        (other, "another candidate than scripted"),
        (tmp_path / "absent", "No rows at"),
    ]:
        benchmark = load_benchmark("vqa_rad_closed", Source(path=rad_folder, options={"blind_run": str(folder)}))
        who = candidate("yes")
        with pytest.raises(HealthgymError, match=message):
            measured(benchmark, who)
        assert who.policy.asked == []


def test_a_blind_run_without_answers_is_an_unknown_floor(rad_folder, tmp_path):
    row = Row(id="1", status="truncated", detail={"images": False})
    options = {"blind_run": str(stored(tmp_path / "blind", row))}
    benchmark = load_benchmark("vqa_rad_closed", Source(path=rad_folder, options=options))
    assert benchmark.floors(benchmark.items())[-1].score is None


def test_missing_images_are_counted_and_a_damaged_one_loses_its_row(rad_folder):
    (rad_folder / "VQA_RAD Image Folder" / "syn1.png").write_bytes(b"no image")
    rows = measured(load_benchmark("vqa_rad_closed", Source(path=rad_folder)), candidate("yes"))
    assert rows["1"].status == "infra_error" and "syn1.png is damaged" in rows["1"].error
    (rad_folder / "VQA_RAD Image Folder" / "syn1.png").unlink()
    with pytest.raises(ConfigError, match="1 of 1 images are missing, the first syn1"):
        load_benchmark("vqa_rad_closed", Source(path=rad_folder)).items()
    blind = load_benchmark("vqa_rad_closed", Source(path=rad_folder, options={"images": "no"}))
    assert len(blind.items()) == 3


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{key: value for key, value in RAD[0].items() if key != "answer_type"}], "no column 'answer_type'"),
        ([RAD[0], RAD[0]], "1 ids occur more than once"),
        ([rad(1, "Is there?", " ", "CLOSED")], "no text or no answer|no question is left"),
        ([RAD[4]], "no question is left"),
    ],
)
def test_bad_vqa_rad_files_say_what_is_wrong(rad_folder, records, message):
    (rad_folder / "VQA_RAD Dataset Public.json").write_text(json.dumps(records), encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_benchmark("vqa_rad_closed", Source(path=rad_folder)).items()


def test_options_and_splits_are_checked(rad_folder):
    with pytest.raises(ConfigError, match="Did you mean 'images'"):
        load_benchmark("vqa_rad_closed", Source(path=rad_folder, options={"image": "no"}))
    with pytest.raises(ConfigError, match="yes or no"):
        load_benchmark("vqa_rad_closed", Source(path=rad_folder, options={"images": "maybe"}))
    with pytest.raises(ConfigError, match="splits test, train, all"):
        load_benchmark("vqa_rad_closed", Source(path=rad_folder, split="dev")).items()
    with pytest.raises(ConfigError, match="No file or folder"):
        load_benchmark("slake_closed", Source(path=rad_folder / "absent")).items()


def slake(qid: int, question: str, answer: str, kind: str, lang: str = "en") -> dict:
    return {
        "img_id": 1, "img_name": "xmlab1/source.jpg", "question": question, "answer": answer, "q_lang": lang,
        "location": "Lung", "modality": "X-Ray", "answer_type": kind, "base_type": "vqa", "content_type": "Organ",
        "triple": ["vhead", "_", "_"], "qid": qid,
    }  # fmt: skip


def test_slake_is_english_unless_another_language_is_asked_for(tmp_path):
    records = [
        slake(1, "Is the lung healthy?", "No", "CLOSED"),
        slake(2, "Which is larger, left lung or right lung?", "Right lung", "CLOSED"),
        slake(3, "Is this the left lung?", "Left lung", "CLOSED"),
        slake(4, "肺是健康的吗？", "不是", "CLOSED", "zh"),
    ]
    (tmp_path / "test.json").write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    image(tmp_path / "imgs" / "xmlab1" / "source.jpg")
    english = load_benchmark("slake_closed", Source(path=tmp_path))
    assert [item.id for item in english.items()] == ["1", "2", "3"]
    assert english.items()[1].content["choices"] == ["Left lung", "Right lung"]
    rows = measured(english, candidate("The right lung is larger than the heart."))
    assert (rows["2"].score, rows["3"].score, rows["1"].status) == (1.0, 0.0, "unparsed")
    chinese = load_benchmark("slake_closed", Source(path=tmp_path, options={"lang": "zh"}))
    assert measured(chinese, candidate("不是"))["4"].score == 1.0
    with pytest.raises(ConfigError, match="lang must be one of en, zh, all"):
        load_benchmark("slake_open", Source(path=tmp_path, options={"lang": "fr"})).items()


def test_path_vqa_reads_both_of_its_pickles(tmp_path):
    plain = [
        {"image": "test_0001", "question": "Is the tissue necrotic?", "answer": "yes"},
        {"image": "test_0001", "question": "What is shown?", "answer": "a granuloma"},
    ]
    folder = tmp_path / "qas" / "test"
    folder.mkdir(parents=True)
    (folder / "test_qa.pkl").write_bytes(pickle.dumps(plain))
    image(tmp_path / "images" / "test" / "test_0001.jpg")
    closed = load_benchmark("path_vqa_closed", Source(path=tmp_path))
    assert measured(closed, candidate("Yes"))["test-0"].score == 1.0
    assert (
        measured(load_benchmark("path_vqa_open", Source(path=tmp_path)), candidate("granuloma"))["test-1"].score == 0.5
    )
    (folder / "test_qa.pkl").unlink()
    weighted = [{"img_id": "test_0001", "sent": "Is it?", "label": {"no": 1, "maybe": 0.3}, "question_id": 9}]
    (folder / "test_vqa.pkl").write_bytes(pickle.dumps(weighted))
    assert load_benchmark("path_vqa_closed", Source(path=tmp_path)).items()[0].content["answers"] == ["no"]


def parquet(path: Path, rows: list[dict]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    path.parent.mkdir(parents=True, exist_ok=True)
    writer.write_table(pyarrow.Table.from_pylist(rows), path)


def test_hub_rows_carry_their_images_and_equal_images_are_one_cluster(tmp_path):
    rows = [
        {"image": {"bytes": image(shade=shade), "path": None}, "question": question, "answer": answer,
         "answer_type": kind, "context": "a lecture"}
        for shade, question, answer, kind in [
            (1, "Is there mitosis?", "Yes, there is.", "CLOSED"),
            (1, "What stain is this?", "Haematoxylin and eosin", "OPEN"),
            (2, "Is it benign?", "No", "CLOSED"),
        ]
    ]  # fmt: skip
    parquet(tmp_path / "data" / "train-00000-of-00001.parquet", rows)
    closed = load_benchmark("quilt_vqa_closed", Source(path=tmp_path))
    assert [item.content["answers"] for item in closed.items()] == [["yes"], ["no"]]
    assert measured(closed, candidate("No."))["quilt-2"].score == 1.0
    opened = load_benchmark("quilt_vqa_open", Source(path=tmp_path)).items()
    assert opened[0].cluster == closed.items()[0].cluster != closed.items()[1].cluster
    with pytest.raises(ConfigError, match="no parquet file of the split 'test'"):
        load_benchmark("path_vqa_closed", Source(path=tmp_path)).items()


def test_hub_rows_without_an_image_column_or_image_are_refused(tmp_path):
    parquet(tmp_path / "train-0.parquet", [{"image": "a.png", "question": "?", "answer": "x", "answer_type": "OPEN"}])
    with pytest.raises(ConfigError, match="carry no images"):
        load_benchmark("quilt_vqa_open", Source(path=tmp_path)).items()
    lost = {"image": {"bytes": None, "path": "a.png"}, "question": "Where?", "answer": "x", "answer_type": "OPEN"}
    parquet(tmp_path / "train-0.parquet", [lost])
    with pytest.raises(ConfigError, match="1 of 1 images are missing"):
        load_benchmark("quilt_vqa_open", Source(path=tmp_path)).items()


def test_vqa_med_2021_joins_questions_and_answers_and_takes_any_right_one(tmp_path):
    (tmp_path / "Task1-VQA-2021-TestSet-Questions.txt").write_text(
        "synpic1|what is abnormal in the x-ray?\nsynpic2|what abnormality is seen?\n", encoding="utf-8"
    )
    answers = tmp_path / "Task1-VQA-2021-TestSet-ReferenceAnswers.txt"
    answers.write_text("synpic2|Pulmonary embolism|PE\nsynpic1|fracture\n", encoding="utf-8")
    for name in ("synpic1", "synpic2"):
        image(tmp_path / "VQA-500-Images" / f"{name}.jpg")
    benchmark = load_benchmark("vqa_med_2021", Source(path=tmp_path))
    rows = measured(benchmark, candidate("PE."))
    assert (rows["synpic2"].score, rows["synpic1"].score, rows["synpic2"].gold) == (1.0, 0.0, "Pulmonary embolism | PE")
    answers.write_text("synpic2|PE\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="no answer for 1 images, the first synpic1"):
        load_benchmark("vqa_med_2021", Source(path=tmp_path)).items()


def test_vqa_med_2021_reads_one_file_of_three_fields_and_refuses_other_lines(tmp_path):
    file = tmp_path / "VQA-Med-2021-VQAnswering-Task1-New-ValidationSet.txt"
    file.write_text("synpic9|what is abnormal?|cyst\n", encoding="utf-8")
    image(tmp_path / "synpic9.jpg")
    source = Source(path=tmp_path, split="validation")
    assert load_benchmark("vqa_med_2021", source).items()[0].content["answers"] == ["cyst"]
    file.write_text("synpic9|what is abnormal?|cyst\nno bars here\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 2 has no bar"):
        load_benchmark("vqa_med_2021", source).items()


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("slake_closed", "BoKelvin/SLAKE"),
        ("pmc_vqa", "RadGenome/PMC-VQA"),
        ("vqa_med_2021", "abachaa/VQA-Med-2021"),
        ("live_qa", "TREC-2017"),
        ("medication_qa", "Medication_QA_MedInfo2019"),
        ("health_search_qa", "supplementary data"),
        ("k_qa_golden", "Itaymanes/K-QA"),
        ("k_qa_silver", "OLAPH"),
    ],
)
def test_missing_data_says_how_to_get_it(name, source):
    with pytest.raises(ConfigError, match=f"No data. .*{source}"):
        load_benchmark(name)


PMC_HEAD = "Figure_path,Question,Answer,Choice A,Choice B,Choice C,Choice D,Answer_label\n"


def test_pmc_vqa_is_multiple_choice_read_by_letter_or_text(tmp_path):
    (tmp_path / "test_clean.csv").write_text(
        PMC_HEAD
        + "f1.jpg,Which modality?, CT, A:CT , B:MRI , C:Plain radiograph , D:PET ,A\n"
        + "f1.jpg,Which organ?,Liver,A:Lung,B:Liver,C:Spleen,D:A kidney,B\n",
        encoding="utf-8",
    )
    image(tmp_path / "images" / "f1.jpg")
    benchmark = load_benchmark("pmc_vqa", Source(path=tmp_path))
    assert benchmark.items()[0].content["options"] == {"A": "CT", "B": "MRI", "C": "Plain radiograph", "D": "PET"}
    who = candidate(lambda messages: "The answer is A." if "modality" in text_in(messages) else "Liver")
    rows = measured(benchmark, who)
    assert (rows["pmc-1"].score, rows["pmc-2"].score, rows["pmc-2"].prediction) == (1.0, 1.0, "B")
    assert "\nB. MRI\n" in text_in(who.policy.asked[0])
    assert measured(benchmark, candidate("A: CT B: MRI C: Plain radiograph D: PET"))["pmc-1"].status == "unparsed"
    floors = {floor.name: floor.score for floor in benchmark.floors(benchmark.items())}
    # One A and one B: always A is right once in two; one of four; the longest options are C and D, never right.
    assert floors == {"majority": 0.5, "random": 0.25, "longest_option": 0.0, "blind": None}


def test_pmc_vqa_takes_no_initial_of_a_name_for_an_options_letter(tmp_path):
    image(tmp_path / "images" / "f1.jpg")
    germs, lettered = "E. coli,S. aureus,C. difficile,K. pneumoniae", "A. CT,B. MRI,C. C. difficile,D) PET"
    (tmp_path / "test.csv").write_text(
        PMC_HEAD + f"f1.jpg,Which germ?,C. difficile,{germs},C\nf1.jpg,Which one?,CT,{lettered},A\n", encoding="utf-8"
    )
    shown = [
        list(item.content["options"].values()) for item in load_benchmark("pmc_vqa", Source(path=tmp_path)).items()
    ]
    assert shown == [germs.split(","), ["CT", "MRI", "C. difficile", "PET"]]


def test_pmc_vqa_takes_a_letter_or_an_options_text_for_its_answer_and_nothing_else(tmp_path):
    image(tmp_path / "figures" / "f1.jpg")
    later = "index,Figure_path,Caption,Question,Choice A,Choice B,Choice C,Choice D,Answer,split\n"
    file = tmp_path / "test_2.csv"
    file.write_text(later + "0,f1.jpg,x,Which?,one,two,three,four,C,test\n", encoding="utf-8")
    assert load_benchmark("pmc_vqa", Source(path=tmp_path)).items()[0].content["answers"] == ["C"]
    file.write_text(later + "0,f1.jpg,x,Which?,one,two,three,four,Two.,test\n", encoding="utf-8")
    assert load_benchmark("pmc_vqa", Source(path=tmp_path)).items()[0].content["answers"] == ["B"]
    file.write_text(later + "0,f1.jpg,x,Which?,one,two,three,four,five,test\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="row 1: the answer 'five' is none of the options A, B, C, D"):
        load_benchmark("pmc_vqa", Source(path=tmp_path)).items()
    file.write_text("Figure_path,Question,Choice A,Choice B,Choice C\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="holds no records"):
        load_benchmark("pmc_vqa", Source(path=tmp_path)).items()
    file.write_text("Figure_path,Question,Choice A,Choice B,Choice C\nf1.jpg,?,a,b,c\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="no column 'Choice D'"):
        load_benchmark("pmc_vqa", Source(path=tmp_path)).items()
