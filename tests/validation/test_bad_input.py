"""Whatever an author gets wrong is told with file, line and remedy, and never as a traceback."""

import re

import pytest
from typer.testing import CliRunner

from healthgym.authoring.scaffold import new_domain
from healthgym.cli.main import app
from healthgym.errors import HealthgymError
from healthgym.registry import load_domain
from healthgym.tasks import load_suite
from healthgym.validation import validate

ANSWER = '            answer={"dose_mg": AnswerField(gold=dose, compare="range", tolerance=1.0, unit="mg")},\n'
FINDING = 'Finding(id="rash", reveal="ask", present=True, text="rash", lay="A rash.", topics=("rash",))'


def spoil(folder, file, old, new):
    """Write the scaffolded domain with some words of one file exchanged; without `new`, that file is missing."""
    new_domain(folder)
    path = folder / file
    if new is None:
        path.unlink()
        return
    text = path.read_text()
    assert old in text, f"the scaffold no longer holds {old!r}"
    text = text.replace(old, new)
    if "Finding(" in new or "LabResult(" in new:
        text = text.replace("import Allergy, Chart", "import Allergy, Chart, Finding, LabResult")
    path.write_text(text)


IN_THE_CHART = 'chief_complaint="I feel hot.",'
LAB = IN_THE_CHART + " lab_results={{'crp': LabResult(analyte='{0}', value=3, unit={1})}},"
TASKS = {
    "without gold": (ANSWER, "", "no gold", "give answer"),
    "with an answer that the submit tool does not take": ('{"dose_mg": A', '{"dose_g": A', "'dose_g'", "Did you mean 'dose_mg'"),
    "whose solution calls an unknown tool": ('Call("weigh_patient"', 'Call("wiegh"', "calls 'wiegh'", "Known: ask_patient"),
    "that offers an unknown tool": (
        'difficulty="easy",', 'difficulty="easy", tools=("ask_patients",),', "'ask_patients'", "Did you mean 'ask_patient'",
    ),
    "whose hazard watches an unknown tool": (
        'tool="give_paracetamol"', 'tool="give_paracetamole"', "hazard", "Did you mean 'give_paracetamol'",
    ),
    "with a gold that no answer can reach": ("else min(round", "else 9e3 + min(round", "submit_dose failed", "Mend"),
    "with evidence that no call reveals": ('"P1.weight_kg"', '"P1.wieght_kg"', "without its evidence", "Mend"),
    "with no patient": ('Case(task, {"P1": chart})', "Case(task, {})", "patient is missing", "add"),
    "with another patient": ('Case(task, {"P1": chart})', 'Case(task, {"P2": chart})', "patient 'P1'", "Add the chart"),
    "with evidence on another patient": ('("P1.allergies",)', '("P2.allergies",)', "patient 'P2'", "mend the id"),
    "without a solution": ("solution=(", "solution=() and (", "no solution", "list the calls"),
    "with an id of its own": ("id=draw.task_id", 'id="same"', "calls itself 'same'", "use the draw's task_id"),
    "with two findings of one id": (
        IN_THE_CHART, f"{IN_THE_CHART} findings=({FINDING},) * 2,", "2 findings with the id 'rash'", "Rename",
    ),
    "with a result under another name": (IN_THE_CHART, LAB.format("wbc", "'mg/L'"), "of 'wbc' under 'crp'", "same name"),
    "with one laboratory test in two units": (
        IN_THE_CHART, LAB.format("crp", "['mg/L', 'mg/dL'][draw.index % 2]"), "comes in 'mg/dL' here", "Give one unit",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TASKS)
def test_a_task_is_refused_with_file_line_and_remedy(tmp_path, case):
    old, new, complaint, remedy = TASKS[case]
    spoil(tmp_path / "fever", "tasks.py", old, new)
    told = CliRunner().invoke(app, ["validate", str(tmp_path / "fever"), "--sample", "12"], env={"COLUMNS": "400"})
    assert told.exit_code == 1 and "Traceback" not in told.output
    text = " ".join(told.output.split())
    assert complaint in text and remedy in text, text
    assert re.search(r"where/\S*fever/tasks\.py,line\d+", "".join(told.output.split())), text  # long paths are broken


LOADING = ("without gold", "whose solution calls an unknown tool", "with no patient", "with an id of its own")


@pytest.mark.parametrize("case", LOADING)
def test_what_loads_a_task_refuses_it_too(tmp_path, case):
    old, new, complaint, remedy = TASKS[case]
    folder = tmp_path / "fever"
    spoil(folder, "tasks.py", old, new)
    with pytest.raises(HealthgymError, match=r"fever/tasks\.py, line \d+: ") as caught:
        load_suite(str(folder)).case("fever/fever_dose/train/0000")
    assert complaint in str(caught.value) and remedy in str(caught.value)


FILES = {
    "an unclosed bracket": ("tasks.py", '{"P1": chart})', '{"P1": chart}', "tasks.py, line 60: SyntaxError"),
    "an import of what is not there": ("tasks.py", "import Allergy", "import Allergi", "tasks.py, line 5: ImportError"),
    "an unknown name": ("tasks.py", "= 15.0, 1000.0", "= 15.0, MOST", "tasks.py, line 7: NameError"),
    "an unknown split": ("tasks.py", '"test": 12', '"tests": 12', "tasks.py, line 10: task family: unknown splits"),
    "a misspelt key": (
        "domain.yaml",
        "title:",
        "titel:",
        "domain.yaml, line 2: unknown key 'titel'. Did you mean 'title'",
    ),
    "a key that stands twice": (
        "domain.yaml",
        "title:",
        "name: x\ntitle:",
        "domain.yaml, line 2: .*'name' stands twice",
    ),
    "invalid YAML": ("domain.yaml", "title: ", "title: [", "domain.yaml, line 3: not valid YAML"),
    "an unknown limit": (
        "domain.yaml",
        "turns:",
        "turn:",
        "domain.yaml, line 5: the budget has no 'turn'. Did you mean",
    ),
    "a limit that is no number": (
        "domain.yaml",
        "turns: 8",
        "turns: many",
        "domain.yaml, line 5: budget.turns must be",
    ),
    "no guideline": ("guideline.md", "", None, "guideline.md: missing; write"),
    "no toolkit": ("toolkit.py", "", None, "toolkit.py: missing. Write it"),
    "a tool without a description": ("toolkit.py", "Weigh a patient.", "", "toolkit.py, line 14: tool weigh_patient"),
    "an argument without a description": ("toolkit.py", "question: In", "In", "toolkit.py, line 25: tool ask_patient"),
    "another domain's toolkit": (
        "toolkit.py",
        'domain = "f',
        'domain = "F',
        "toolkit.py, line 9: .*give both the same name",
    ),
    "no submit tool": ("toolkit.py", '"submit"', '"write"', "toolkit.py, line 9: .*exactly one submit tool"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_is_refused_with_its_line_and_remedy(tmp_path, case):
    file, old, new, complaint = FILES[case]
    spoil(tmp_path / "fever", file, old, new)
    with pytest.raises(HealthgymError, match=complaint):
        load_domain(tmp_path / "fever")


def test_two_families_of_one_name_are_both_placed(tmp_path):
    other = '@task_family(counts={"train": 2}, name="fever_dose")\ndef other(draw: Draw) -> Case:\n    """Other."""\n'
    spoil(tmp_path / "fever", "tasks.py", "def _case(", other + '    return _case(draw, "x")\n\n\ndef _case(')
    with pytest.raises(
        HealthgymError, match=r"line 10 and .*line 16: two task families are named 'fever_dose'; rename"
    ):
        load_domain(tmp_path / "fever")


def test_a_sound_task_beside_a_broken_one_is_still_proved(tmp_path):
    # Every second case lacks its patient: the other half is replayed, and the worst oracle counts as 0.
    spoil(tmp_path / "fever", "tasks.py", "Case(task, {", "Case(task, {} if draw.index % 2 else {")
    proof = validate(load_domain(tmp_path / "fever"))
    assert proof["tasks"] == 30 and proof["calls"] > 0
    assert [item["count"] for item in proof["failures"] if "patient is missing" in item["what"]] == [30]
