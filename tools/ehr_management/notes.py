"""The words of the ward: admission, progress, nursing and medication notes, written from the record."""

from typing import Literal

from healthgym.knowledge_base import load

from .admission import Admission, stays

Kind = Literal["admission_note", "progress_note", "nursing_note", "medication_note", "clinic_letter", "consult_note"]


def write_note(stay: Admission, kind: Kind, hours: float, author: str, text: str) -> None:
    """Write one note; the list shows its title, the text has to be opened."""
    title = f"{kind.replace('_', ' ')} by {author}"
    stay.book.add("DocumentReference", kind, hours, title, detail={"text": text, "author": author})


def write_admission_note(stay: Admission, *, also: str = "") -> None:
    """Write the note of the first hour."""
    chart, kb = stay.chart, load()
    first = chart.vital_signs[0][1]
    known = [draft["text"] for draft in stay.book.drafts if draft["resource"] == "Condition"]
    history = "; ".join(known) or "nothing of note"
    text = (
        f"{chart.age_years:g}-year-old {'woman' if chart.sex == 'female' else 'man'}. Admitted with "
        f"{kb.condition(chart.condition).name.lower()}. Past history: {history}. On arrival T {first.temperature_c} C, "
        f"HR {first.heart_rate_per_min}, BP {first.systolic_bp_mmhg}/{first.diastolic_bp_mmhg}, SpO2 {first.spo2_percent} %. "
        f"Plan: {stays()[chart.condition]['plan']}."
    )
    write_note(stay, "admission_note", 1.5, "admitting doctor", f"{text} {also}".strip())


def write_progress_notes(stay: Admission) -> None:
    """Write a doctor's note of every round."""
    for day, hour in enumerate(stay.rounds(), 1):
        state = ("Seen on the round, comfortable.", "Slept well, eating.", "No new complaint.")[day % 3]
        write_note(stay, "progress_note", hour, "ward doctor", f"Day {day}. {state} Continue as planned.")


def write_nursing_notes(stay: Admission) -> None:
    """Write a nurse's note every other day: background noise for whoever searches."""
    texts = ("Washed and out of bed with help. Skin intact.", "Ate half of lunch. Mobilised to the bathroom.")
    for number, hour in enumerate(stay.rounds()[::2]):
        write_note(stay, "nursing_note", hour - 3, "ward nurse", texts[number % 2])
