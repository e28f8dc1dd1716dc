"""Long-form benchmarks read their datasets' own formats, score overlap by hand-worked figures, and never judge unasked."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from answering import candidate, measured
from test_records import workbook

from healthgym.errors import ConfigError, GraderError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.benchmarks import load_benchmark
from healthgym.evaluation.benchmarks.k_qa import load as load_k_qa
from healthgym.evaluation.facts import Verdict, fact_scores
from healthgym.evaluation.long_form import LongFormBenchmark

LIVE = """<?xml version="1.0" encoding="UTF-8"?>
<LiveQA2017><NLM-QUESTION qid="TQ1"><Original-Question qfile="1.txt"><SUBJECT>sore knee</SUBJECT>
<MESSAGE>My knee hurts &amp; swells.
What helps?</MESSAGE></Original-Question><NIST-PARAPHRASE>What helps a swollen knee?</NIST-PARAPHRASE>
<NLM-Summary>How is a swollen knee treated?</NLM-Summary>
<ANNOTATIONS><FOCUS fid="F1" fcategory="Problem">knee</FOCUS><TYPE tid="T1" hasFocus="F1">TREATMENT</TYPE></ANNOTATIONS>
<ReferenceAnswers><ReferenceAnswer aid="A1"><ANSWER>Rest and ice help.</ANSWER><AnswerURL>x</AnswerURL></ReferenceAnswer>
<ReferenceAnswer aid="A2"><ANSWER>Raise the leg.</ANSWER></ReferenceAnswer></ReferenceAnswers></NLM-QUESTION>
<NLM-QUESTION qid="TQ2"><Original-Question><MESSAGE>And the ankle?</MESSAGE></Original-Question>
<ReferenceAnswers/></NLM-QUESTION></LiveQA2017>
"""


def test_live_qa_takes_the_best_of_its_references_and_leaves_out_questions_without_one(tmp_path, caplog):
    file = tmp_path / "TREC-2017-LiveQA-Medical-Test-Questions-w-summaries.xml"
    file.write_text(LIVE, encoding="utf-8")
    benchmark = load_benchmark("live_qa", Source(path=tmp_path))
    assert [item.id for item in benchmark.items()] == [
        "TQ1"
    ] and "1 questions without a reference answer" in caplog.text
    who = candidate("Ice and rest help.")
    row = measured(benchmark, who)["TQ1"]
    assert who.policy.asked[0] == [{"role": "user", "content": "sore knee\nMy knee hurts & swells. What helps?"}]
    # "ice and rest help" and "rest and ice help" share two words in order, as "and help": 2 of 4 on both sides.
    assert row.score == pytest.approx(2 / 4) and row.scores["token_f1"] == 1.0 and row.scores["answer_words"] == 4
    assert row.strata == {"type": "treatment"} and row.gold == "Rest and ice help."
    file.write_text(
        LIVE.replace(
            "And the ankle?</MESSAGE></Original-Question>",
            "</MESSAGE></Original-Question><NLM-Summary>The ankle?</NLM-Summary>",
        ),
        encoding="utf-8",
    )
    summary = load_benchmark("live_qa", Source(path=tmp_path, options={"question": "summary"}))
    assert summary.items()[0].content["question"] == "How is a swollen knee treated?"


def test_live_qa_reads_its_training_form(tmp_path):
    file = tmp_path / "train.xml"
    file.write_text(
        '<X><NLM-QUESTION questid="7"><SUBJECT>s</SUBJECT><MESSAGE>Is it safe?</MESSAGE><SUB-QUESTIONS><SUB-QUESTION '
        'subqid="1"><ANNOTATIONS><TYPE>safety</TYPE></ANNOTATIONS><ANSWERS><ANSWER answerid="1">Yes, it is.</ANSWER></ANSWERS>'
        "</SUB-QUESTION></SUB-QUESTIONS></NLM-QUESTION></X>",
        encoding="utf-8",
    )
    item = load_benchmark("live_qa", Source(path=file)).items()[0]
    assert (item.id, item.content["question"], item.content["references"]) == ("7", "s\nIs it safe?", ["Yes, it is."])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<X><NLM-QUESTION>", "no whole XML file"),
        ("<X/>", "no NLM-QUESTION under its X"),
        (LIVE.replace("TQ2", "TQ1"), "1 ids occur more than once, the first 'TQ1'"),
        (
            LIVE.replace("<ANSWER>", "<OTHER>").replace("</ANSWER>", "</OTHER>"),
            "none of the 2 questions has a reference",
        ),
        (LIVE.replace("And the ankle?", " "), "1 questions have no text, the first 'TQ2'"),
    ],
)
def test_bad_live_qa_files_say_what_is_wrong(tmp_path, text, message):
    (tmp_path / "a.xml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_benchmark("live_qa", Source(path=tmp_path / "a.xml")).items()


def test_medication_qa_is_read_from_a_workbook_or_a_table(tmp_path):
    benchmark = load_benchmark("medication_qa", Source(path=workbook(tmp_path / "MedInfo2019-QA-Medications.xlsx")))
    with pytest.raises(ConfigError, match="1 questions have no text, the first 'row-2'"):
        benchmark.items()
    table = tmp_path / "m.csv"
    table.write_text(
        "Question,Focus (Drug),Question Type,Answer,Section Title,URL\n"
        "how much x can i take?,x,Dose,At most one tablet daily.,Dosage,u\n"
        "How much X can I take,x,Dose,One tablet.,Dosage,u\nwhat is y?,y,Information,,,\n",
        encoding="utf-8",
    )
    items = load_benchmark("medication_qa", Source(path=table)).items()
    assert [item.id for item in items] == ["row-1", "row-2"]
    assert [item.cluster for item in items] == ["row-1", "row-1"]  # the same question in the same words
    table.write_text("Question,Reply\na,b\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"no column 'Answer'\. Its columns: Question, Reply"):
        load_benchmark("medication_qa", Source(path=table)).items()


def test_floors_are_what_saying_nothing_of_ones_own_gives(tmp_path):
    table = tmp_path / "m.csv"
    table.write_text("Question,Answer\nice for knees,ice helps knees\nheat for backs,heat harms\n", encoding="utf-8")
    benchmark = load_benchmark("medication_qa", Source(path=table))
    floors = {floor.name: floor.score for floor in benchmark.floors(benchmark.items())}
    # Echo: "ice for knees" and "ice helps knees" share 2 of 3 words, F1 2/3; "heat for backs" and "heat harms" 1: 2*1/5.
    assert floors["echo"] == pytest.approx((2 / 3 + 2 / 5) / 2)
    assert floors["unrelated"] == 0.0


def test_health_search_qa_collects_answers_and_claims_nothing_about_them(tmp_path):
    table = tmp_path / "healthsearchqa.csv"
    table.write_text("id,question\n1,Is it bad?\n2,Can it spread?\n3,\n", encoding="utf-8")
    benchmark = load_benchmark("health_search_qa", Source(path=table))
    rows = measured(benchmark, candidate(lambda messages: "It may." if "spread" in messages[0]["content"] else ""))
    assert (rows["2"].status, rows["2"].score, rows["2"].gold) == ("answered", 1.0, None)
    assert (rows["1"].status, rows["1"].score) == ("unparsed", None)
    assert "quality not measured" in benchmark.title and benchmark.floors(benchmark.items()) == []


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("   ", "unparsed"),
        ("As an AI language model, I cannot provide medical advice.", "refused"),
        ("I am not a doctor, but rest and ice help.", "answered"),
        ("rest and ice help " * 30, "degenerate"),
        ("休息和冰敷有帮助休息和冰敷有帮助休息和冰敷有帮助休息和冰敷", "degenerate"),
        (" ".join(f"word{i}" for i in range(50)), "truncated"),
    ],
)
def test_what_cannot_be_scored_has_its_own_status(tmp_path, output, status):
    (tmp_path / "a.xml").write_text(LIVE, encoding="utf-8")
    rows = measured(load_benchmark("live_qa", Source(path=tmp_path / "a.xml")), candidate(output), max_tokens=40)
    assert rows["TQ1"].status == status


GOLDEN = [
    {
        "Question": "May I take both?", "Must_have": ["They interact.", "Ask first."], "Nice_to_have": ["Water helps."],
        "Free_form_answer": "They interact, so ask first.", "Sources": "x", "ICD_10_diag": "y",
    },
    {"Question": "Is it catching?", "Must_have": ["It is not catching."], "Nice_to_have": [], "Free_form_answer": "No."},
]  # fmt: skip


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    file = tmp_path / "questions_w_answers.jsonl"
    file.write_text("\n".join(map(json.dumps, GOLDEN)), encoding="utf-8")
    return file


class WordJudge:
    """Entails a statement whose first word is in the answer, contradicts one about water."""

    name = "words"

    def __call__(self, question: str, answer: str, statements: Sequence[str]) -> list[Verdict]:
        return [
            "contradicts" if "Water" in text else "entails" if text.split()[0] in answer else "neutral"
            for text in statements
        ]


def judged_by(judge: object, source: Source) -> LongFormBenchmark:
    return LongFormBenchmark(
        name="k",
        title="K",
        scorer="k/1",
        questions=lambda: load_k_qa(source),
        headline="comprehensiveness",
        judge=judge,
    )


def test_k_qa_without_a_judge_has_no_fact_scores_and_says_so(golden):
    benchmark = load_benchmark("k_qa_golden", Source(path=golden))
    row = measured(benchmark, candidate("They interact, so ask first."))["kqa-1"]
    assert row.score == 1.0 and "comprehensiveness" not in row.scores and row.detail["facts"] == "unjudged"
    assert "no judge named" in benchmark.title


def test_k_qa_with_a_judge_scores_facts_and_rescores_from_stored_verdicts(golden):
    rows = measured(judged_by(WordJudge(), Source(path=golden)), candidate("They do. Drink."))
    # Of two must-have facts one is entailed; of three facts one is contradicted.
    assert rows["kqa-1"].score == rows["kqa-1"].scores["comprehensiveness"] == 0.5
    assert rows["kqa-1"].scores["hallucinations"] == 1.0
    assert rows["kqa-1"].scores["contradicted"] == pytest.approx(1 / 3)
    assert rows["kqa-2"].score == 0.0 and rows["kqa-2"].detail["facts"] == "words"
    unjudged = judged_by(None, Source(path=golden))
    item = unjudged.items()[0]
    stripped = replace(rows["kqa-1"], detail={"clipped": False})
    assert unjudged.rescore(rows["kqa-1"], item).score == 0.5
    assert unjudged.rescore(stripped, item).status == "grader_error"


def test_a_judge_that_fails_loses_the_row_and_no_other(golden):
    class Failing(WordJudge):
        def __call__(self, question: str, answer: str, statements: Sequence[str]) -> list[Verdict]:
            if "catching" in question:
                raise GraderError("no verdict")
            return super().__call__(question, answer, statements)

    class Short(WordJudge):
        def __call__(self, question: str, answer: str, statements: Sequence[str]) -> list[Verdict]:
            return ["entails"]

    rows = measured(judged_by(Failing(), Source(path=golden)), candidate("They do."))
    assert (rows["kqa-1"].status, rows["kqa-2"].status) == ("answered", "grader_error")
    assert rows["kqa-2"].output == "They do." and rows["kqa-2"].error == "no verdict"
    assert measured(judged_by(Short(), Source(path=golden)), candidate("x"))["kqa-1"].status == "grader_error"


def test_bad_k_qa_files_and_judges_say_what_is_wrong(golden):
    for options, message in [
        ({"judge": "gpt"}, "judge must be nli:FOLDER_OR_NAME"),
        ({"judges": "x"}, "Did you mean 'judge'"),
    ]:
        with pytest.raises(ConfigError, match=message):
            load_benchmark("k_qa_golden", Source(path=golden, options=options))
    golden.write_text(json.dumps({"Question": "Why?", "Must_have": "a text"}), encoding="utf-8")
    with pytest.raises(ConfigError, match="Must_have of record 1 is str"):
        load_benchmark("k_qa_golden", Source(path=golden)).items()
    golden.write_text(json.dumps({"Question": "Why?"}), encoding="utf-8")
    with pytest.raises(ConfigError, match="no column 'Must_have'"):
        load_benchmark("k_qa_silver", Source(path=golden)).items()


def test_facts_that_are_not_there_have_no_scores():
    assert fact_scores([]) == {}
    assert fact_scores([{"must": False, "verdict": "neutral"}]) == {"hallucinations": 0.0, "contradicted": 0.0}
