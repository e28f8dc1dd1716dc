"""Renders every fact into short passages, so that all that a task needs can be looked up by searching."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from healthgym.retrieval.passages import Passage

from . import KnowledgeBase, load
from .normal import normal_vital_signs
from .pharmacology import Drug, Interaction
from .schema import Analyte, Condition, Guideline, SeverityProfile, StudyKind

SOURCE = "healthgym"
LICENCE = "Apache-2.0"
MAX_WORDS = 120


def passages(kb: KnowledgeBase | None = None) -> list[Passage]:
    """Return all facts as passages of at most 120 words, ids stable and unique; the installed facts when `kb` is None."""
    return list(_installed() if kb is None else _render(kb))


@lru_cache(maxsize=1)
def _installed() -> tuple[Passage, ...]:
    return tuple(_render(load()))


def _render(kb: KnowledgeBase) -> Iterator[Passage]:
    for condition in kb.conditions.values():
        yield from _condition(kb, condition)
    for guideline in kb.guidelines.values():
        yield from _guideline(guideline)
    for drug in kb.drugs.values():
        yield from _drug(drug, kb)
    for interaction in kb.interactions:
        yield from _interaction(interaction, kb)
    for analyte in kb.analytes.values():
        yield from _analyte(analyte)
    for study in kb.studies.values():
        yield from _study(study)
    for illness in kb.comorbidities.values():
        yield from _passage(
            f"illness:{illness.id}",
            illness.name,
            "in the population",
            _illness_sentences(kb, illness.id),
            illness.source,
        )


def _passage(
    name: str, title: str, section: str, sentences: Iterable[str], ref: str, date: str | None = None
) -> Iterator[Passage]:
    """Pack sentences into as few passages as the limit of words allows; later ones are numbered."""
    packed: list[list[str]] = [[]]
    for sentence in filter(None, sentences):
        text = sentence if sentence.endswith((".", "?", "!")) else f"{sentence}."
        for part in _parts(text):
            if packed[-1] and len(" ".join((*packed[-1], part)).split()) > MAX_WORDS:
                packed.append([])
            packed[-1].append(part)
    for number, group in enumerate(packed, 1):
        if group:
            suffix = f":{number}" if number > 1 else ""
            yield Passage(
                id=f"{name}{suffix}",
                title=title[:1].upper() + title[1:],
                section=section,
                text=" ".join(group),
                source=SOURCE,
                licence=LICENCE,
                ref=ref,
                date=date,
            )


def _parts(sentence: str) -> Iterator[str]:
    """Cut a sentence that alone exceeds the limit."""
    words = sentence.split()
    for start in range(0, len(words), MAX_WORDS):
        yield " ".join(words[start : start + MAX_WORDS])


def _words(name: str) -> str:
    return name.replace("_", " ")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(_words, names))


def _condition(kb: KnowledgeBase, condition: Condition) -> Iterator[Passage]:
    name, title, ref = f"condition:{condition.id}", condition.name, condition.source
    yield from _passage(name, title, "overview", _overview(kb, condition), ref)
    yield from _passage(f"{name}:presentation", title, "presentation", _presentation(kb, condition), ref)
    for level, profile in condition.severities.items():
        yield from _passage(
            f"{name}:{level}", title, f"{level} presentation", _severity(kb, condition, level, profile), ref
        )
    yield from _passage(f"{name}:treatment", title, "first treatment", _treatment(kb, condition), ref)


def _overview(kb: KnowledgeBase, condition: Condition) -> Iterator[str]:
    also = f", also called {', '.join(condition.aliases)}" if condition.aliases else ""
    yield f"{condition.name} (ICD-10-CM {condition.icd10}){also}"
    who = condition.who
    youngest, oldest = (f"{years:g} years" if years >= 2 else f"{years * 365:.0f} days" for years in who.age_years)
    yield f"Profile: age {youngest} to {oldest}, {who.female_share:.0%} female"
    if who.pregnancy_weeks:
        yield f"Arises in pregnancy, here at {who.pregnancy_weeks[0]:g} to {who.pregnancy_weeks[1]:g} weeks"
    if who.comorbidities:
        shares = ", ".join(f"{kb.comorbidities[item].name} {share:.0%}" for item, share in who.comorbidities.items())
        yield f"Often along with: {shares}"
    yield f"Severities: {', '.join(condition.severities)}"


def _finding_text(kb: KnowledgeBase, name: str) -> str:
    if name in kb.symptoms:
        return kb.symptoms[name].text
    return kb.signs[name].text.rstrip(".").lower()


def _presentation(kb: KnowledgeBase, condition: Condition) -> Iterator[str]:
    def told(pairs: dict[str, float], least: float, below: float) -> str:
        return "; ".join(f"{_finding_text(kb, n)} ({p:.0%})" for n, p in pairs.items() if least <= p < below)

    usual, rare = told(condition.symptoms, 0.1, 2), told(condition.symptoms, 0, 0.1)
    yield f"Key findings of {condition.name.lower()}: {'; '.join(_finding_text(kb, name) for name in condition.key_findings)}"
    if condition.red_flags:
        yield f"Red flags: {'; '.join(_finding_text(kb, name) for name in condition.red_flags)}"
    yield f"Symptoms of {condition.name.lower()}: {usual}" if usual else ""
    yield f"Rare or absent, worth asking: {rare}" if rare else ""
    seen, unseen = told(condition.signs, 0.1, 2), told(condition.signs, 0, 0.1)
    yield f"Examination: {seen}" if seen else ""
    yield f"Rare or absent on examination: {unseen}" if unseen else ""


def _severity(kb: KnowledgeBase, condition: Condition, level: str, profile: SeverityProfile) -> Iterator[str]:
    shift, triage, normal = profile.vitals, profile.triage, normal_vital_signs(40)
    yield (
        f"{condition.name}, {level}: a typical adult has temperature {36.8 + shift.temperature_c[0]:.1f} C, heart rate "
        f"{normal.heart_rate_per_min + shift.heart_rate_per_min[0]:.0f}, respiratory rate "
        f"{normal.respiratory_rate_per_min + shift.respiratory_rate_per_min[0]:.0f}, systolic pressure "
        f"{normal.systolic_bp_mmhg + shift.systolic_bp_mmhg[0]:.0f} mmHg, SpO2 {98 + shift.spo2_percent[0]:.0f} %, "
        f"GCS {shift.gcs}"
    )
    if profile.labs:
        values = ", ".join(
            f"{kb.analytes[item].name} about {mean:g} {kb.analytes[item].unit}"
            for item, (mean, _) in profile.labs.items()
        )
        yield f"Laboratory: {values}"
    for study, report in profile.studies.items():
        yield f"{kb.studies[study].name}: {report}"
    if triage.immediate_interventions:
        yield f"Needs at once: {', '.join(triage.immediate_interventions)}"
    yield f"High risk: {triage.high_risk}" if triage.high_risk else ""
    yield f"Resources expected: {_listed(triage.resources) or 'none'}; protocol: {triage.protocol}"
    yield f"Disposition: {_words(profile.disposition)}"
    if profile.deteriorates_after_minutes is not None:
        yield f"Untreated, may get worse after about {profile.deteriorates_after_minutes:g} minutes"


def _treatment(kb: KnowledgeBase, condition: Condition) -> Iterator[str]:
    yield f"First steps in {condition.name}: {'; '.join(condition.first_line)}" if condition.first_line else ""
    if condition.first_drugs:
        yield f"First drugs: {', '.join(kb.drugs[drug].name if drug in kb.drugs else drug for drug in condition.first_drugs)}"
    for drug, reason in condition.contraindicated.items():
        yield f"Not {kb.drugs[drug].name if drug in kb.drugs else _words(drug)}: {reason}"


def _guideline(item: Guideline) -> Iterator[Passage]:
    sentences = [item.statement, f"Population: {item.population}"]
    sentences.append(f"Strength: {item.strength}" if item.strength else "")
    yield from _passage(
        f"guideline:{item.id}", item.title, "guideline statement", sentences, item.source, str(item.year)
    )


def _drug(drug: Drug, kb: KnowledgeBase) -> Iterator[Passage]:
    name, ref = f"drug:{drug.id}", drug.source
    yield from _passage(name, drug.name, _use_heading(drug), _use_and_dose(drug), ref)
    yield from _passage(f"{name}:safety", drug.name, _safety_heading(drug), _drug_safety(drug, kb), ref)
    yield from _passage(f"{name}:handling", drug.name, "metabolism and monitoring", _handling(drug), ref)


def _use_heading(drug: Drug) -> str:
    return _heading("use and dose", {"kidney impairment": drug.renal, "liver impairment": drug.hepatic})


def _safety_heading(drug: Drug) -> str:
    """Name what the passage tells of: people search for these words, and passages on pairs have the drug's name as well."""
    topics = {
        "contraindications": drug.contraindications or drug.relative_contraindications,
        "pregnancy": drug.pregnancy,
        "breastfeeding": drug.lactation,
        "older adults": drug.beers,
        "QT prolongation": drug.qt_risk != "none",
        "allergy": drug.allergy_group or drug.cross_reactive,
        "alternatives": drug.alternatives,
    }
    return _heading("safety", topics)


def _heading(title: str, topics: Mapping[str, object]) -> str:
    return ", ".join((title, *(topic for topic, told in topics.items() if told)))


def _use_and_dose(drug: Drug) -> Iterator[str]:
    also = f", also {', '.join(drug.aliases)}" if drug.aliases else ""
    yield f"{drug.name}{also}: {_listed(drug.classes)}; for {_listed(drug.indications)}; route {_listed(drug.routes)}"
    if drug.usual_dose:
        yield f"Usual adult dose {drug.usual_dose.dose_mg:g} mg, {drug.usual_dose.times_per_day:g} times a day"
    yield f"At most {drug.max_daily_mg:g} mg a day" if drug.max_daily_mg is not None else ""
    if drug.older_dose:
        yield f"Over {drug.older_dose.over_years} years at most {drug.older_dose.max_daily_mg:g} mg a day"
    for band in sorted(drug.renal, key=lambda band: band.below):
        limit = f"At or below {band.below:g}" if band.includes_limit else f"Below {band.below:g}"
        dose = "avoid" if band.avoid else f"at most {band.max_daily_mg:g} mg a day" if band.max_daily_mg else ""
        yield f"{limit} mL/min creatinine clearance: {'; '.join(filter(None, (dose, band.note)))}"
    for grade, advice in drug.hepatic.items():
        yield f"Child-Pugh {grade}: {'no change' if advice == 'none' else advice}"


def _drug_safety(drug: Drug, kb: KnowledgeBase) -> Iterator[str]:
    yield f"{drug.name} is sold without prescription" if drug.over_the_counter else ""
    for condition, reason in drug.contraindications.items():
        yield f"{drug.name} is contraindicated in {_words(condition)}: {reason}"
    for condition, reason in drug.relative_contraindications.items():
        yield f"Only with good reason in {_words(condition)}: {reason}"
    for label, advice in (("Pregnancy", drug.pregnancy), ("Breastfeeding", drug.lactation)):
        if advice:
            when = f" in trimester {', '.join(map(str, advice.avoid_trimesters))}" if advice.avoid_trimesters else ""
            yield f"{label}: {advice.level}{when}{f' ({advice.reason})' if advice.reason else ''}"
    yield f"Beers Criteria, 65 years and over: {drug.beers}" if drug.beers else ""
    traits = ("serotonergic", "anticholinergic", "bleeding", "sedative")
    held = [name if name != "bleeding" else "raises bleeding risk" for name in traits if getattr(drug, name)]
    yield f"Effects: {', '.join(held)}" if held else ""
    yield f"{drug.potassium.capitalize()} potassium" if drug.potassium != "none" else ""
    yield f"QT risk: {drug.qt_risk}" if drug.qt_risk != "none" else ""
    yield f"Allergy group: {_words(drug.allergy_group)}" if drug.allergy_group else ""
    if drug.cross_reactive:
        yield f"Shares a side chain with {', '.join(kb.drugs[other].name for other in drug.cross_reactive)}"
    for other, reason in drug.alternatives.items():
        yield f"Alternative: {kb.drugs[other].name} ({reason})"
    yield f"Stopping at once may cause {drug.abrupt_stop}" if drug.abrupt_stop else ""


def _handling(drug: Drug) -> Iterator[str]:
    for enzyme, roles in drug.cyp.items():
        for role, strength in roles.items():
            yield f"{drug.name}: {enzyme} {role}, {strength}"
    for transporter, held in drug.transporters.items():
        yield f"{drug.name}: {transporter} {', '.join(held)}"
    yield f"Monitor {_listed(drug.monitoring)} with {drug.name}" if drug.monitoring else ""


def _interaction(item: Interaction, kb: KnowledgeBase) -> Iterator[Passage]:
    a, b = kb.drugs[item.a].name, kb.drugs[item.b].name
    sentences = [
        f"{a} with {b}: {item.severity} interaction",
        f"Effect: {item.effect}",
        f"Mechanism: {_words(item.mechanism)} ({item.kind})",
    ]
    replaced = f"; replace {a if item.replace == 'a' else b}" if item.replace else ""
    instead = (
        item.alternative
        and f" by {kb.drugs[item.alternative].name if item.alternative in kb.drugs else item.alternative}"
    )
    sentences.append(f"Advice: {_words(item.action)}{replaced}{instead}")
    if item.limit_daily_mg is not None:
        sentences.append(f"At most {item.limit_daily_mg:g} mg a day")
    if item.separate_hours is not None:
        sentences.append(f"Keep {item.separate_hours:g} hours apart")
    sentences.append(f"Watch {_listed(item.monitor)}" if item.monitor else "")
    yield from _passage(f"interaction:{item.a}:{item.b}", f"{a} and {b}", "interaction", sentences, item.source)


def _analyte(analyte: Analyte) -> Iterator[Passage]:
    loinc = f", LOINC {analyte.loinc}" if analyte.loinc else ""
    sentences = [f"{analyte.name} ({analyte.plain}), {analyte.specimen}, in {analyte.unit}{loinc}"]
    for band in analyte.ranges:
        sex = "" if band.sex == "any" else f" ({band.sex})"
        ages = f" from {band.from_years:g} to {band.to_years:g} years" if band.to_years < 200 else ""
        sentences.append(f"Reference range{sex}{ages}: {band.low:g} to {band.high:g} {analyte.unit}")
    sentences.append(f"Critical below {analyte.critical_low:g}" if analyte.critical_low is not None else "")
    sentences.append(f"Critical above {analyte.critical_high:g}" if analyte.critical_high is not None else "")
    sentences.append(f"Result in about {analyte.turnaround_minutes:g} minutes")
    yield from _passage(f"analyte:{analyte.id}", analyte.name, "reference range", sentences, analyte.source)


def _study(study: StudyKind) -> Iterator[Passage]:
    sentences = [f"{study.name}: report in about {study.turnaround_minutes:g} minutes", f"Normal: {study.normal}"]
    yield from _passage(f"study:{study.id}", study.name, "study", sentences, study.source)


def _illness_sentences(kb: KnowledgeBase, name: str) -> Iterator[str]:
    illness = kb.comorbidities[name]
    young, middle, old = illness.prevalence
    yield f"{illness.name}: about {young:.1%} at 18 to 44, {middle:.1%} at 45 to 64, {old:.1%} at 65 years and over"
    if illness.egfr:
        yield f"eGFR here {illness.egfr[0]:g} to {illness.egfr[1]:g} mL/min/1.73 m2"
