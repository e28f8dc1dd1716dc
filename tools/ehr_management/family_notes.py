"""The family about notes that do not agree with the record: find the wrong statement and correct it in an addendum."""

from healthgym.knowledge_base import load
from healthgym.tasks import AnswerField, Call, Case, task_family
from healthgym.tasks.families import Draw

from .admission import admit, conditions_for, pick, write_background
from .assembly import difficulty_of, make_case, seen, wording
from .course import draw_labs, draw_vital_signs, morning_hours, write_lab
from .notes import write_admission_note, write_note, write_nursing_notes
from .record import IN_ERROR, find, need, select

CITED = ("creatinine", "potassium", "hemoglobin", "sodium", "wbc")
NAMES = {"wbc": "white cells", "hemoglobin": "haemoglobin"}
SOURCE = "gold: the record's own results"


@task_family(counts={"train": 30, "val": 4, "test": 6, "test_ood": 4})
def correct_a_note(draw: Draw) -> Case:
    """One progress note cites a result that the laboratory never reported; find it and write the addendum."""
    difficulty, rng = difficulty_of(draw), draw.rng
    days = {"easy": 3, "medium": 4, "hard": 6}[difficulty]
    stay = admit(draw, str(pick(rng, conditions_for(draw))), hours=24.0 * days + 6)
    write_background(stay)
    write_admission_note(stay)
    write_nursing_notes(stay)
    rounds = [hour for hour in morning_hours(stay.admission_hour, stay.hours - 4) if hour > 1]
    draw_labs(stay.book, stay.chart, rng, [0.5, *rounds])
    draw_vital_signs(stay.book, stay.chart, rng, stay.hours)
    bad_round, bad_name = int(rng.integers(len(rounds))), str(pick(rng, CITED))
    for number, hour in enumerate(rounds):
        said = []
        for name in CITED[:3] if difficulty == "easy" and bad_name in CITED[:3] else CITED:
            draft = next(d for d in stay.book.drafts if d["code"] == name and d["time"] == stay.stamp(hour))
            value, analyte = float(draft["value"]), load().analytes[name]
            if (number, name) == (bad_round, bad_name):
                right, unit, decimals = value, analyte.unit, analyte.decimals
                value = _far_from(value, float(rng.choice([0.7, 1.35])), decimals)
            said.append(f"{NAMES.get(name, name)} {value:.{analyte.decimals}f} {analyte.unit}")
        order = [said[int(i)] for i in rng.permutation(len(said))]
        write_note(
            stay, "progress_note", hour + 3, "ward doctor", f"Morning bloods: {', '.join(order)}. Plan unchanged."
        )
    if difficulty == "hard":
        other = str(pick(rng, [name for name in CITED if name != bad_name]))
        wrong = float(stay.chart.lab_results[other].value) * 1.4
        write_lab(stay.book, other, rounds[0] - 1, wrong, status=IN_ERROR, remark="tube mix-up, repeat below")
    chart = stay.finish()
    pid = chart.patient_id
    notes = select(chart, code="progress_note")
    moment = stay.stamp(rounds[bad_round])
    lab = need([e for e in select(chart, code=bad_name) if e["time"] == moment], bad_name)
    bad_note = need([find(chart, f"progress_note-{bad_round + 1:02d}") or {}], "the wrong note")[0]
    text = f"{right:.{decimals}f}"
    words = (NAMES.get(bad_name, bad_name), bad_name)
    plain = dict.fromkeys((text, f"{right:g}"))
    numbers = (*(f"{number} {unit}" for number in plain), *plain)
    return make_case(
        draw,
        chart,
        prompt=wording(draw, patient=pid),
        answer={
            "record_id": AnswerField(gold=bad_note["id"]),
            "analyte": AnswerField(gold=bad_name),
            "value": AnswerField(gold=right, compare="range", tolerance=0.0, unit=unit, weight=2.0),
        },
        evidence=(
            seen(chart, [bad_note], "the note that is wrong"),
            seen(chart, lab, "the laboratory's own result"),
        ),
        look=(
            Call("search_records", patient_id=pid, resource="DocumentReference", code="progress_note"),
            *(Call("read_record", patient_id=pid, record_id=note["id"]) for note in notes),
            *(Call("get_labs", patient_id=pid, analyte=name) for name in CITED),
        ),
        act=(
            Call(
                "write_note", patient_id=pid, kind="addendum",
                text=f"Correction to {bad_note['id']}: {words[0]} was {text} {unit}, as the laboratory reported.",
            ),
        ),
        end_state={f"{pid}.note.addendum": AnswerField(gold=(words, numbers), compare="mentions", max_words=80)},
        source=SOURCE,
    )  # fmt: skip


def _far_from(value: float, factor: float, decimals: int) -> float:
    """Return a wrong value that no rounding explains."""
    wrong = round(value * factor, decimals)
    return wrong if wrong != value else value + 1
