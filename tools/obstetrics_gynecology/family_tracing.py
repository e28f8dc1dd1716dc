"""Fetal heart tracings in labour: category, what to do, and the look afterwards."""

from collections.abc import Mapping
from typing import Any

from healthgym.tasks import Call, Case, Deadline, Hazard, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Medication

from ..scores.fetal_heart_tracing import deceleration_kind, tracing_category, variability_of
from .cases import COUNTS, done, make_case, pick, record_read, scenario, seen, whole
from .women import child, woman

SCENARIOS = {
    # name: kinds of tracing at first and, after resuscitation, later; whether oxytocin runs
    "normal": ("normal", "", False),
    "late_dips_improve": ("late_moderate", "normal", True),
    "absent_late": ("absent_late", "absent_late", True),
    "variable_dips_stay": ("variable_moderate", "variable_moderate", False),
    "tachycardia_worsens": ("tachycardia_minimal", "absent_late", False),
    "early_dips": ("early_moderate", "", False),
    "crowded_contractions": ("crowded", "normal", True),
    "absent_bradycardia": ("absent_bradycardia", "absent_bradycardia", False),
    "minimal_improves": ("minimal_late", "normal", True),
    "late_dips_worsen": ("late_moderate", "absent_late", True),
    "sinusoidal": ("sinusoidal", "sinusoidal", False),
    "prolonged_dip_improves": ("prolonged", "normal", True),
    "normal_marked": ("marked", "normal", False),
}
HELD_OUT = ("sinusoidal", "prolonged_dip_improves", "normal_marked")
RECHECK_MINUTES = 20
RESUSCITATION = "intrauterine_resuscitation"


@task_family(counts={**COUNTS, "train": 24, "test": 6})
def fetal_tracing(draw: Draw) -> Case:
    """Read figures, name the category, act, look again, decide."""
    name = scenario(draw, tuple(SCENARIOS), HELD_OUT)
    first_kind, later_kind, oxytocin = SCENARIOS[name]
    first = trace(draw, first_kind)
    states = [{"minute": 0, **first}]
    if later_kind:
        later = first if later_kind == first_kind else trace(draw, later_kind)
        states.append({"minute": RECHECK_MINUTES, "needs": [RESUSCITATION], **later})
    categories = [category_of(state) for state in states]
    running = (
        (Medication(drug="oxytocin", dose_mg=0.01, route="intravenous", indication="slow labour"),) if oxytocin else ()
    )
    mother = woman(
        draw,
        complaint=pick(draw, ("It comes every few minutes.", "I'm exhausted.", "Is my baby all right?")),
        gestation_days=whole(draw, 37 * 7, 41 * 7),
        medications=running,
        record={
            "labour_notes": f"{whole(draw, 4, 7)} cm at the last examination. "
            + ("Oxytocin runs." if oxytocin else "No oxytocin.")
        },
        extra={"cervix": {
            "dilation_cm": whole(draw, 4, 7), "effacement_percent": 90, "station": 0, "consistency": "soft",
            "position": "anterior", "membranes": "ruptured, fluid clear"}},
    )  # fmt: skip
    acts, last = categories[0] != "I", categories[-1]
    emergency = last == "III"
    calls = [Call("view_ctg", patient_id="F1"), Call("read_record", patient_id="P1", section="labour_notes")]
    evidence = [seen("F1.ctg.0", "tracing"), record_read("labour_notes")]
    if acts:
        calls.append(Call("start_measure", patient_id="P1", measure=RESUSCITATION))
        calls += [Call("stop_drug", patient_id="P1", drug="oxytocin")] if oxytocin else []
        if categories[0] == "III":
            calls.append(Call("call_team", patient_id="P1", team="emergency_caesarean"))
        else:
            calls += [Call("wait", minutes=RECHECK_MINUTES), Call("view_ctg", patient_id="F1")]
            evidence.append(seen("F1.ctg.1", "tracing after resuscitation"))
            if emergency:
                calls.append(Call("call_team", patient_id="P1", team="emergency_caesarean"))
    team = [
        Deadline(tool="call_team", where={"team": "emergency_caesarean"},
                 after="F1.ctg.0" if categories[0] == "III" else "F1.ctg.1", within_minutes=20,
                 severity="critical", label="category III without a team")
    ] if emergency else []  # fmt: skip
    return make_case(
        draw,
        [mother, child("fetus", ctg=states)],
        answer={
            "diagnosis": f"category_{len(last)}",
            "plan": "emergency_delivery" if emergency else "continue_monitoring",
        },
        end_state={
            "P1.measures": done(RESUSCITATION) if acts else None,
            "P1.stopped": done("oxytocin") if acts and oxytocin else None,
            "P1.teams": done("emergency_caesarean") if emergency else None,
        },
        evidence=evidence,
        solution=calls,
        deadlines=team,
        hazards=(
            Hazard(tool="submit_decision", where={"plan": "continue_monitoring"}, severity="critical",
                   label="category III left alone"),
        ) if emergency else (),
        topic=name,
        difficulty="easy" if not acts else "hard" if last == "III" and categories[0] != "III" else "medium",
    )  # fmt: skip


def category_of(state: Mapping[str, Any]) -> str:
    """Return the category of a tracing kept in a chart."""
    dips = state.get("dips")
    kind = deceleration_kind(dips["onset_s"], dips["lag_s"], dips["duration_s"]) if dips else "none"
    recurrent = dips is not None and dips["count"] >= state["contractions"]  # of twice as many in 20 minutes
    return tracing_category(
        state["baseline"], variability_of(state["amplitude"]), kind, recurrent, bool(state.get("sinusoidal"))
    )


def trace(draw: Draw, kind: str) -> dict[str, Any]:
    """Draw the figures of one kind of tracing."""
    contractions = whole(draw, 3, 4)
    base: dict[str, Any] = {
        "baseline": whole(draw, 118, 152),
        "amplitude": whole(draw, 8, 20),
        "accelerations": whole(draw, 0, 3),
        "contractions": contractions,
    }
    shapes = {"late": (whole(draw, 32, 50), whole(draw, 15, 35)), "early": (whole(draw, 31, 45), 0)}
    shapes |= {"variable": (whole(draw, 8, 22), whole(draw, 0, 12)), "prolonged": (whole(draw, 10, 25), 0)}
    if kind.startswith("absent"):
        base |= {"amplitude": 0, "accelerations": 0}
    if "minimal" in kind:
        base |= {"amplitude": whole(draw, 2, 5), "accelerations": 0}
    if "tachycardia" in kind:
        base["baseline"] = whole(draw, 168, 182)
    if "bradycardia" in kind:
        base["baseline"] = whole(draw, 82, 98)
    if kind == "marked":
        base["amplitude"] = whole(draw, 28, 36)
    if kind == "sinusoidal":
        return {**base, "amplitude": 0, "accelerations": 0, "sinusoidal": True}
    if kind == "crowded":
        base |= {"contractions": 6, "accelerations": 0}
    shape = next(
        (name for name in ("late", "early", "variable", "prolonged") if name in kind),
        "late" if kind == "crowded" else "",
    )
    if shape:
        onset, lag = shapes[shape]
        number = 1 if shape == "prolonged" else base["contractions"] + whole(draw, 0, base["contractions"] - 1)
        length = whole(draw, 150, 240) if shape == "prolonged" else whole(draw, 40, 90)
        depth = whole(draw, 40, 60) if shape == "prolonged" else whole(draw, 16, 35)
        base["dips"] = {"count": number, "onset_s": onset, "lag_s": lag, "duration_s": length, "depth": depth}
    return base
