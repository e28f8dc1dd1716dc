import pytest

from healthgym.errors import ToolError
from healthgym.imports.agentclinic.matching import items_of, meant

TESTS = {
    "Blood_Tests": {"Complete_Blood_Count": {"WBC": "14 x10^9/L", "Hemoglobin": "13 g/dL"}, "HbA1c": "11 %", "Glucose": "90 mg/dL"},
    "Imaging": {"Chest_X-Ray": {"Findings": "Clear"}, "CT_Scan_Thorax": {"Findings": "Normal"}, "CT_Abdomen": {"Findings": "Stone"}},
    "Urinalysis": {"Glucose": "negative"},
    "Urine_Culture": "no growth",
    "Acetylcholine_Receptor_Antibodies": "positive",
}  # fmt: skip


def found(order: str) -> str | None:
    item = meant(order, items_of(TESTS), groups_too=False, kind="test")
    return None if item is None else item.text


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ("CBC", "WBC: 14 x10^9/L; Hemoglobin: 13 g/dL"),
        ("full complete blood count, please", "WBC: 14 x10^9/L; Hemoglobin: 13 g/dL"),
        ("white blood cell count", "14 x10^9/L"),
        ("haemoglobin", "13 g/dL"),
        ("hemoglobin A1c", "11 %"),
        ("CXR", "Findings: Clear"),
        ("chest x-ray PA and lateral", "Findings: Clear"),
        ("CT chest with contrast", "Findings: Normal"),
        ("abdominal CT", "Findings: Stone"),
        ("urine glucose", "negative"),
        ("UA", "Glucose: negative"),
        ("acetylcholine receptor antibody", "positive"),
        ("anti-AChR antibodies", "positive"),
        ("CBC with differential", "WBC: 14 x10^9/L; Hemoglobin: 13 g/dL"),
    ],
)
def test_an_order_finds_the_test_it_means(order: str, text: str):
    assert found(order) == text


@pytest.mark.parametrize(
    "order", ["TSH", "MRI head", "blood culture", "sputum culture", "CT head", "serum iron", "x-ray knee"]
)
def test_an_order_of_what_was_not_done_finds_nothing(order: str):
    assert found(order) is None


@pytest.mark.parametrize("order", ["blood tests", "imaging", "labs", "all tests", "", "%%"])
def test_a_whole_group_of_tests_is_too_vague(order: str):
    with pytest.raises(ToolError, match="too vague"):
        found(order)


@pytest.mark.parametrize("order", ["CT", "glucose"])
def test_an_order_that_could_mean_several_is_asked_back(order: str):
    with pytest.raises(ToolError, match="could mean several"):
        found(order)


def test_a_miss_tells_no_name_of_a_test():
    assert found("antibodies") is None


@pytest.mark.parametrize(
    ("order", "text"),
    [("blood culture", None), ("serum glucose", None), ("urine culture", "no growth"), ("glucose", "negative")],
)
def test_an_order_on_blood_is_not_met_by_a_test_on_urine(order: str, text: str | None):
    tests = items_of({"Urine": {"Culture": "no growth"}, "Urinalysis": {"Glucose": "negative"}})
    item = meant(order, tests, groups_too=False, kind="test")
    assert (None if item is None else item.text) == text
