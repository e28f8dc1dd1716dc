"""Questions that apply a score's criteria to a patient: the total and which parts weigh most. HEART is asked in test_ood alone."""

from collections.abc import Callable, Mapping

from healthgym.knowledge_base import load
from healthgym.tasks import AnswerField, Call, Case, task_family
from healthgym.tasks.families import Draw

from ..scores.heart import heart_points
from ..scores.news2 import news2_parts
from ..scores.revised_trauma import rts_codes, rts_weighted
from .drawing import choose, difficulty_of
from .finding import analyte_fact
from .questions import Lookup, Option, Question, make_case

HEAVY_SHARE = 0.5
"""How often a part is drawn to earn two points or more: as an option it is right and wrong alike."""


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def score_totals(draw: Draw) -> Case:
    """The total of a score from raw observations: RTS (easy), NEWS2 and its weightiest parts, HEART out of distribution."""
    if draw.split == "test_ood":
        return make_case(draw, _heart(draw))
    return make_case(draw, _rts(draw) if difficulty_of(draw) == "easy" else _news2(draw))


def _criteria(instrument: str) -> Lookup:
    return Lookup(
        label="the criteria of the score",
        keys=(f"kb.criteria.{instrument}",),
        read=(Call("scoring_criteria", instrument=instrument),),
    )


def _rts(draw: Draw) -> Question:
    gcs = int(draw.rng.integers(3, 15))
    pressure = int(draw.rng.choice([draw.rng.integers(40, 89), draw.rng.integers(76, 130)]))
    breaths = int(draw.rng.choice([draw.rng.integers(4, 12), draw.rng.integers(24, 40)]))
    gold = round(rts_weighted(gcs, pressure, breaths), 4)
    a, b, c = rts_codes(gcs, pressure, breaths)
    return Question(
        names={"findings": f"GCS {gcs}, systolic pressure {pressure} mmHg, {breaths} breaths a minute"},
        lookups=(_criteria("revised_trauma_score"),),
        difficulty="easy",
        condition="revised_trauma_score",
        answer={"number": AnswerField(gold=gold, compare="range", tolerance=0.006)},
        working=(Call("calculate", expression=f"0.9368 * {a} + 0.7326 * {b} + 0.2908 * {c}"),),
        variant="rts",
    )


def _between(*spans: tuple[int, int]) -> Callable[[Draw], int]:
    """Return a draw from one of several closed spans."""

    def drawn(draw: Draw) -> int:
        low, high = spans[int(draw.rng.integers(len(spans)))]
        return int(draw.rng.integers(low, high + 1))

    return drawn


_VITAL_SIGNS: Mapping[str, tuple[Callable[[Draw], int], Callable[[Draw], int]]] = {
    "respiration": (_between((21, 24), (25, 32)), _between((9, 11), (12, 20))),
    "spo2": (_between((85, 91), (92, 93)), _between((94, 95), (96, 99))),
    "systolic_bp": (_between((78, 90), (91, 100)), _between((101, 110), (111, 170))),
    "pulse": (_between((36, 40), (111, 130), (131, 150)), _between((41, 50), (51, 90), (91, 110))),
    "temperature": (_between((338, 350), (391, 401)), _between((351, 360), (361, 380), (381, 390))),
}
"""By part of NEWS2: how a value of two points or more, and one of less, is drawn; temperature in tenths of a degree."""
_PARTS = {
    "respiration": "Respiratory rate", "spo2": "Oxygen saturation", "oxygen": "Oxygen given", "systolic_bp": "Systolic pressure",
    "pulse": "Pulse", "consciousness": "Consciousness", "temperature": "Temperature",
}  # fmt: skip


def _observations(draw: Draw) -> tuple[str, dict[str, int]]:
    """Return one set of observations in words, and its parts of NEWS2."""
    heavy = {name: bool(draw.rng.random() < HEAVY_SHARE) for name in _PARTS}
    value = {name: drawers[0 if heavy[name] else 1](draw) for name, drawers in _VITAL_SIGNS.items()}
    temperature = value["temperature"] / 10
    parts = news2_parts(
        value["respiration"],
        value["spo2"],
        value["systolic_bp"],
        value["pulse"],
        temperature,
        not heavy["consciousness"],
        heavy["oxygen"],
    )
    mind = (
        choose(draw, ("newly confused", "responds to voice", "responds to pain")) if heavy["consciousness"] else "alert"
    )
    air = choose(draw, ("on 2 L oxygen", "on a 28 % oxygen mask")) if heavy["oxygen"] else "breathing air"
    text = (
        f"{value['respiration']} breaths a minute, SpO2 {value['spo2']} % {air}, blood pressure {value['systolic_bp']} mmHg "
        f"systolic, pulse {value['pulse']}, {mind}, {temperature:.1f} C"
    )
    return text, parts


def _news2(draw: Draw) -> Question:
    text, parts = _observations(draw)
    total, variant, sums = sum(parts.values()), "news2", " + ".join(map(str, parts.values()))
    names, working = {"findings": text}, [Call("calculate", expression=sums)]
    if difficulty_of(draw) == "hard":
        before, earlier = _observations(draw)
        names["before"], variant = before, "change"
        total -= sum(earlier.values())
        working = [Call("calculate", expression=f"{sums} - ({' + '.join(map(str, earlier.values()))})")]
    return Question(
        names=names,
        options=[Option(text=_PARTS[name], is_right=points >= 2) for name, points in parts.items()],
        takes_several=True,
        lookups=(_criteria("news2"),),
        difficulty=difficulty_of(draw),
        condition="news2",
        answer={"number": AnswerField(gold=total, compare="range", tolerance=0.01)},
        working=working,
        variant=variant,
    )


def _heart(draw: Draw) -> Question:
    """Return a HEART question; the troponin limit is looked up for the patient's sex."""
    heavy = draw.rng.random(5) < HEAVY_SHARE
    history, ecg = (2 if is_two else int(draw.rng.integers(2)) for is_two in heavy[:2])
    sex, age = (
        choose(draw, ("female", "male")),
        int(draw.rng.integers(65, 88) if heavy[2] else draw.rng.integers(30, 65)),
    )
    factors = int(draw.rng.integers(3, 6) if heavy[3] else draw.rng.integers(3))
    analyte = load().analytes["troponin_i"]
    upper = analyte.reference_range(sex, age).high
    ratio = float(draw.rng.choice((3.6, 6.0, 12.0) if heavy[4] else (0.4, 0.8, 1.4, 2.5)))
    troponin = round(upper * ratio)
    points = heart_points(history, ecg, age, factors, False, troponin / upper)
    parts = {
        "History": history,
        "ECG": ecg,
        "Age": 2 if age >= 65 else int(age >= 45),
        "Risk factors": 2 if factors >= 3 else int(factors >= 1),
        "Troponin": 2 if troponin > 3 * upper else int(troponin > upper),
    }
    said = ("slightly suspicious", "moderately suspicious", "highly suspicious")[history]
    film = ("normal ECG", "unspecific repolarisation change", "significant ST deviation")[ecg]
    risk = f"{factors or 'no'} risk factor{'' if factors == 1 else 's'}"
    person = f"{age}-year-old {'woman' if sex == 'female' else 'man'}"
    return Question(
        names={"findings": f"{person}, {said} history, {film}, {risk}, troponin I {troponin} {analyte.unit}"},
        options=[Option(text=name, is_right=earned == 2) for name, earned in parts.items()],
        takes_several=True,
        lookups=(_criteria("heart"), analyte_fact("troponin_i", sex, age)),
        difficulty=difficulty_of(draw),
        condition="heart",
        answer={"number": AnswerField(gold=points, compare="range", tolerance=0.01)},
        working=(Call("calculate", expression=" + ".join(map(str, parts.values()))),),
        variant="heart",
    )
