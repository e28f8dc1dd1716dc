import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from written import ddxplus, patient, write_ddxplus, write_json

from healthgym.errors import ContentError
from healthgym.imports import import_cases
from healthgym.imports.ddxplus.metrics import differential_scores
from healthgym.imports.ddxplus.profiles import (
    SURE,
    draw_patient,
    log_likelihoods,
    make_profiles,
    posterior,
    questions,
    read_profiles,
)
from healthgym.registry import load_domain
from healthgym.tasks import Call, Suite
from healthgym.validation import validate
from healthgym.validation.replay import play
from healthgym.world import World


def test_a_posterior_is_bayes_rule_written_out():
    # Two conditions. A lists symptom 1 (0.8) and antecedent 2 (0.4); B lists symptom 2 (0.8). The patient has 2 and not 1:
    # A: 0.2 * 0.4 = 0.08; B: (1 - 0) * 0.8 = 0.8; so B has 0.8 / 0.88.
    profiles = make_profiles(
        [
            {"name": "A", "symptoms": ["E_1"], "antecedents": ["E_2"]},
            {"name": "B", "symptoms": ["E_2"], "antecedents": []},
        ],
        [{"code": "E_1", "type": "B"}, {"code": "E_2", "type": "B"}],
    )
    chances = posterior(log_likelihoods(profiles.present, np.array([False, True])).sum(axis=1))
    assert chances[1] == pytest.approx(0.8 / 0.88)


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ddx")
    import_cases(write_ddxplus(folder / "in"), folder / "my_ddx", limit=60)
    return folder / "my_ddx"


def test_a_drawn_patient_has_only_listed_evidence_and_one_condition_explains_it(sampled: Path):
    profiles = read_profiles(sampled)
    for condition, seed in product(range(3), range(30)):
        drawn = draw_patient(profiles, condition, np.random.default_rng(seed))
        row = profiles.conditions[condition]
        assert set(drawn.present) <= {*row["symptoms"], *row["antecedents"]} - {"E_9"}
        assert drawn.initial in set(row["symptoms"]) & set(drawn.present)
        assert drawn.accepted == (condition,)
        # By hand, in probabilities and not in logarithms:
        weights = []
        for other in profiles.conditions:
            weight = 1.0
            for code in profiles.codes:
                chance = 0.8 if code in other["symptoms"] else 0.4 if code in other["antecedents"] else 0.0
                weight *= chance if code in drawn.present else 1 - chance
            weights.append(weight)
        assert weights[condition] / math.fsum(weights) >= SURE


def test_conditions_that_nothing_tells_apart_are_both_accepted():
    rows = [{"name": name, "symptoms": ["E_1", "E_2", "E_3"], "antecedents": []} for name in ("A", "B")]
    profiles = make_profiles(rows, [{"code": f"E_{n}", "type": "B"} for n in (1, 2, 3)])
    assert draw_patient(profiles, 1, np.random.default_rng(0)).accepted == (1, 0)


def test_the_oracle_asks_until_one_condition_is_sure(sampled: Path):
    profiles = read_profiles(sampled)
    drawn = draw_patient(profiles, 0, np.random.default_rng(3))
    asked = questions(profiles, drawn, 2)
    columns = [profiles.codes.index(code) for code in (drawn.initial, *asked)]
    patient_has = np.isin(profiles.codes, drawn.present)
    each = log_likelihoods(profiles.for_sex(drawn.sex), patient_has)
    assert posterior(each[:, columns].sum(axis=1))[0] >= SURE
    assert len(asked) == len(set(asked)) and drawn.initial not in asked


def test_men_are_not_drawn_with_what_only_women_can_have():
    rows = [{"name": "A", "symptoms": ["E_145", "E_1", "E_2", "E_3"], "antecedents": []}, {"name": "B", "symptoms": ["E_9"], "antecedents": []}]  # fmt: skip
    profiles = make_profiles(rows, [{"code": code, "type": "B"} for code in ("E_145", "E_1", "E_2", "E_3", "E_9")])
    drawn = [draw_patient(profiles, 0, np.random.default_rng(seed)) for seed in range(60)]
    assert any("E_145" in each.present for each in drawn if each.sex == "female")
    assert not any("E_145" in each.present for each in drawn if each.sex == "male")


def test_drawn_patients_have_oracles_with_full_marks_and_tools_that_hold(sampled: Path):
    proof = validate(load_domain(sampled), sample=20)
    assert proof["oracle_min"] == 1.0
    assert {failure["kind"] for failure in proof["failures"]} <= {"attacker"}  # of three conditions one is guessed


def test_more_patients_can_be_drawn_than_were_counted(sampled: Path):
    suite = Suite([load_domain(sampled)], per_family={"train": 90})
    assert suite.counts()["my_ddx"]["train"] == 90
    assert suite.task("my_ddx/sampled/train/0089").criteria.answer["diagnosis"].gold in {"Bronchitis", "URTI", "GERD"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ddx")
    rows = [
        patient(),
        patient(PATHOLOGY="Bronchitis"),  # the same look, another pathology
        patient(EVIDENCES="['E_1', 'E_5', 'E_6']", PATHOLOGY="GERD", SEX="M", DIFFERENTIAL_DIAGNOSIS="[['GERD', 1.0]]"),
    ]
    import_cases(write_ddxplus(folder / "in", rows), folder / "my_ddx", licence="CC-BY-4.0")
    return folder / "my_ddx"


def ask(folder: Path, code: str, task: str = "recorded/train/0000") -> str:
    domain = load_domain(folder)
    world = World(Suite([domain]).case(f"my_ddx/{task}").charts)
    return domain.toolkit(world).call("ask_patient", {"patient_id": "P1", "evidence_id": code}).content


def test_recorded_patients_answer_yes_no_and_choice_questions(recorded: Path, sampled: Path):
    assert [ask(recorded, code) for code in ("E_3", "E_2", "E_9")] == ["Yes.", "No.", "throat."]
    assert ask(recorded, "E_9", "recorded/train/0002") == "nowhere."  # the default, where the row says nothing
    assert ask(recorded, "E_77").startswith("Error: No question has the code 'E_77'")
    assert "holds no values" in ask(sampled, "E_9", "sampled/train/0000")


def test_of_patients_who_look_alike_each_pathology_is_accepted(recorded: Path):
    domain = load_domain(recorded)
    for index in (0, 1):
        case = Suite([domain]).case(f"my_ddx/recorded/train/{index:04d}")
        look = case.task.turns_of_solution()[:-1]
        rewards = [
            play(case, domain, [*look, [Call("submit_diagnosis", diagnosis=name)]]).reward
            for name in ("URTI", "Bronchitis", "GERD")
        ]
        assert rewards == [1.0, 1.0, 0.0]


def test_a_differential_earns_its_f1(recorded: Path):
    domain = load_domain(recorded)
    case = Suite([domain]).case("my_ddx/differential/train/0000")  # URTI and Bronchitis; GERD is below 1 %
    look = case.task.turns_of_solution()[:-1]
    last = Call("submit_diagnosis", diagnosis="URTI", differential=["URTI", "GERD", "Bronchitis"])
    grade = play(case, domain, [*look, [last]]).grade
    assert grade.parts["answer.differential"] == pytest.approx(0.8)  # 2 of 3 right, both found: 2 * 2 / (3 + 2)
    assert play(case, domain, case.task.turns_of_solution()).reward == 1.0


def test_the_scores_of_a_ranked_differential():
    # Two of three given are right, two of four found; the pathology stands second.
    scores = differential_scores(["a", "B", "x"], ["A", "b", "c", "d"], "b")
    assert scores["DDP"] == pytest.approx(2 / 3)
    assert scores["DDR"] == 0.5
    assert scores["DDF1"] == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))
    assert (scores["GTPA"], scores["GTPA@1"], scores["GTPA@3"]) == (1.0, 0.0, 1.0)
    assert differential_scores([], ["a"], "a")["DDF1"] == 0.0


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (patient(SEX="X"), "SEX must be M or F"),
        (patient(AGE="old"), "AGE a whole number"),
        (patient(PATHOLOGY="Gout"), "condition 'Gout' is not in the conditions file"),
        (patient(EVIDENCES="['E_1', 'E_99']"), "evidence 'E_99' is not in the evidences file"),
        (patient(EVIDENCES="['E_1', 'E_3', 'E_9_@_V_7']"), "does not fit evidence E_9"),
        (patient(EVIDENCES="['E_1', 'E_3_@_V_1']"), "does not fit evidence E_3"),
        (patient(EVIDENCES="E_1; E_2"), "EVIDENCES must be a list"),
        (patient(EVIDENCES="__import__('os').getcwd()"), "EVIDENCES must be a list"),
        (patient(EVIDENCES="['E_1', 'E_3']"), "too few"),
        (patient(INITIAL_EVIDENCE="E_2"), "INITIAL_EVIDENCE 'E_2' is not among"),
        (patient(DIFFERENTIAL_DIAGNOSIS="[]"), "no condition of DIFFERENTIAL_DIAGNOSIS"),
        (patient(DIFFERENTIAL_DIAGNOSIS="['URTI']"), "DIFFERENTIAL_DIAGNOSIS must be a list"),
        (patient(PATHOLOGY=""), "column PATHOLOGY is missing or empty"),
    ],
)
def test_an_unusable_row_is_refused_with_its_line(tmp_path: Path, row: dict[str, str], reason: str):
    report = import_cases(write_ddxplus(tmp_path / "in", [patient(), row]), tmp_path / "my_ddx")
    (refusal,) = report.log.refused
    assert refusal.place == "release_test_patients.csv, line 3"
    assert reason in refusal.reason


def test_files_of_two_releases_are_refused(tmp_path: Path):
    folder = write_ddxplus(tmp_path / "in")
    conditions, _ = ddxplus()
    conditions["GERD"]["symptoms"]["E_500"] = {}
    write_json(folder / "release_conditions.json", conditions)
    with pytest.raises(
        ContentError, match=r"release_conditions.json, 'GERD': evidence 'E_500' is not in the evidences"
    ):
        import_cases(folder, tmp_path / "my_ddx")


def test_a_profile_without_its_question_is_refused_by_name(tmp_path: Path):
    folder = write_ddxplus(tmp_path / "in")
    _, evidences = ddxplus()
    del evidences["E_4"]["question_en"]
    write_json(folder / "release_evidences.json", evidences)
    with pytest.raises(ContentError, match=r"release_evidences.json, 'E_4': 'question_en' is missing"):
        import_cases(folder, tmp_path / "my_ddx")


def test_possible_values_that_are_no_list_are_refused_by_name(tmp_path: Path):
    folder = write_ddxplus(tmp_path / "in")
    _, evidences = ddxplus()
    evidences["E_4"]["possible-values"] = 5
    write_json(folder / "release_evidences.json", evidences)
    with pytest.raises(ContentError, match=r"release_evidences.json, 'E_4': 'possible-values' must be a list"):
        import_cases(folder, tmp_path / "my_ddx")
