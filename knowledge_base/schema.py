"""Types of the clinical facts that lie in the data files beside this module."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .units import Unit

Probability = Annotated[float, Field(ge=0, le=1)]
Disposition = Literal["resuscitation", "acute_bed", "fast_track", "waiting_room", "discharge"]
"""Where a patient goes from the triage desk, most urgent first."""
Protocol = Literal["none", "stroke", "stemi", "sepsis", "trauma", "anaphylaxis"]
Resource = Literal[
    "labs",
    "ecg",
    "imaging",
    "iv_fluids",
    "iv_im_neb_medication",
    "specialty_consult",
    "simple_procedure",
    "complex_procedure",
]
"""What the ESI handbook counts as resources; a complex procedure counts as two."""


class Fact(BaseModel):
    """Base of every fact: frozen, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Who(Fact):
    """Who gets the condition."""

    age_years: tuple[float, float]
    """Youngest and oldest."""
    peak_years: float | None = None
    """Age at which it is most frequent; every age alike when None."""
    female_share: Probability = 0.5
    pregnancy_weeks: tuple[float, float] | None = None
    """Set when every patient of the profile is pregnant."""
    can_be_pregnant: bool = True
    """False when pregnancy would make it another condition."""
    comorbidities: dict[str, Probability] = {}
    """Predisposing illnesses, by id of `comorbidities.yaml`."""
    medicines: dict[str, Probability] = {}
    """Drug ids that its patients take for their illnesses, beyond what these bring by themselves."""

    @model_validator(mode="after")
    def _ages_in_order(self) -> "Who":
        youngest, oldest = self.age_years
        if not 0 <= youngest < oldest <= 110:
            raise ValueError(f"age_years must rise within 0 to 110, got {self.age_years}")
        if self.peak_years is not None and not youngest <= self.peak_years <= oldest:
            raise ValueError(f"peak_years {self.peak_years} lies outside age_years {self.age_years}")
        return self


class Symptom(Fact):
    """Something a patient can tell when asked."""

    id: str
    text: str
    """Clinical wording."""
    lay: str
    """The patient's words when it is present."""
    absent: str
    """The patient's words when it is absent."""
    other: str
    """The words of whoever came along when it is present; {he}, {his}, {him}, {himself} stand for the patient."""
    other_absent: str
    topics: tuple[str, ...] = Field(min_length=1)
    """Words that a question about it would use."""
    sensitive: bool = False
    """Some patients hold it back when first asked."""


class Sign(Fact):
    """Something an examination finds."""

    id: str
    system: Literal[
        "general",
        "neurological",
        "cardiovascular",
        "respiratory",
        "abdominal",
        "limb",
        "skin",
        "head_neck",
        "genitourinary",
    ]
    text: str
    absent: str
    """What the examiner writes when it is absent."""


class Triage(Fact):
    """What the ESI version 5 algorithm needs beyond vital signs."""

    immediate_interventions: tuple[str, ...] = ()
    """Life-saving interventions needed at once; any makes the patient ESI 1."""
    high_risk: str = ""
    """Why the patient should not wait; a reason makes the patient ESI 2."""
    resources: tuple[Resource, ...] = ()
    protocol: Protocol = "none"


class VitalShift(Fact):
    """How a severity moves the vital signs away from normal for age: mean and standard deviation of the shift."""

    temperature_c: tuple[float, float] = (0, 0.2)
    heart_rate_per_min: tuple[float, float] = (0, 5)
    respiratory_rate_per_min: tuple[float, float] = (0, 1.5)
    systolic_bp_mmhg: tuple[float, float] = (0, 8)
    spo2_percent: tuple[float, float] = (0, 0.8)
    gcs: int = 15
    pain_0_10: tuple[int, int] = (0, 2)
    """Lowest and highest."""
    glucose_mg_dl: tuple[float, float] = (105, 12)
    """Mean and standard deviation of the value itself."""


class SeverityProfile(Fact):
    """One severity of a condition."""

    weight: float = Field(gt=0)
    """Relative frequency."""
    vitals: VitalShift = VitalShift()
    triage: Triage
    disposition: Disposition
    deteriorates_after_minutes: float | None = None
    """Untreated, the vital signs become those of `deterioration` at this minute."""
    deterioration: VitalShift | None = None
    labs: dict[str, tuple[float, float]] = {}
    """Abnormal analytes: mean and standard deviation."""
    studies: dict[str, str] = {}
    """Study id to what its report says."""
    findings: dict[str, Probability] = {}
    """Symptoms and signs whose probability differs at this severity."""

    @model_validator(mode="after")
    def _deterioration_is_whole(self) -> "SeverityProfile":
        if (self.deterioration is None) != (self.deteriorates_after_minutes is None):
            raise ValueError("deterioration and deteriorates_after_minutes belong together")
        return self


class Condition(Fact):
    """One condition: who gets it, how it shows, what it needs."""

    id: str
    name: str
    icd10: str = Field(pattern=r"^[A-Z]\d\d(\.[0-9A-Z]{1,4})?$")
    aliases: tuple[str, ...] = ()
    at_triage: bool = True
    """False for what is worked up on a ward or in a clinic: an emergency department's triage desk draws nobody with it."""
    who: Who
    chief_complaints: tuple[str, ...] = ()
    """The patient's opening words; none when the patient cannot speak for themselves."""
    chief_complaints_other: tuple[str, ...] = ()
    """Opening words of whoever came along; {he}, {his}, {him} stand for the patient."""
    symptoms: dict[str, Probability] = Field(min_length=2)
    """Symptom id to the probability that it is present; a low one is a pertinent negative."""
    signs: dict[str, Probability] = Field(min_length=1)
    """Sign id to the probability that it is present."""
    key_findings: tuple[str, ...] = Field(min_length=1)
    """Symptom and sign ids that point to the condition."""
    red_flags: tuple[str, ...] = ()
    severities: dict[str, SeverityProfile] = Field(min_length=1)
    first_line: tuple[str, ...] = ()
    """Actions in words."""
    first_drugs: tuple[str, ...] = ()
    """Drug ids given first."""
    contraindicated: dict[str, str] = {}
    """Drug id to the reason."""
    source: str = Field(min_length=8)

    @model_validator(mode="after")
    def _names_exist(self) -> "Condition":
        known = {*self.symptoms, *self.signs}
        by_severity = (name for level in self.severities.values() for name in level.findings)
        for name in (*self.key_findings, *self.red_flags, *by_severity):
            if name not in known:
                raise ValueError(f"{name!r} is used as a finding but is neither in symptoms nor in signs")
        if not (self.chief_complaints or self.chief_complaints_other):
            raise ValueError("chief_complaints or chief_complaints_other must hold at least one")
        return self


class Comorbidity(Fact):
    """A long-standing illness, how common it is by age, and what people with it usually take."""

    id: str
    name: str
    prevalence: tuple[Probability, Probability, Probability]
    """At 18 to 44, 45 to 64, and 65 years and over; children have none unless a condition says so."""
    medicines: dict[str, Probability] = {}
    """Drug id to the share of patients taking it."""
    egfr: tuple[float, float] | None = None
    """Range of eGFR in ml/min/1.73 m2 that the illness brings."""
    labs: dict[str, tuple[float, float]] = {}
    """Analytes that it moves: mean and standard deviation."""
    source: str = Field(min_length=8)


class MedicineLabs(Fact):
    """What a medicine, by drug id, does to laboratory results."""

    id: str
    labs: dict[str, tuple[float, float]]
    """Analyte to mean and standard deviation."""
    source: str = Field(min_length=8)


class ReferenceRange(Fact):
    """Reference limits for one sex and age band."""

    sex: Literal["female", "male", "any"] = "any"
    from_years: float = 0
    to_years: float = 200
    low: float
    high: float


class Analyte(Fact):
    """A laboratory test."""

    id: str
    name: str
    plain: str
    """What a patient would call it or what it shows."""
    unit: Unit
    loinc: str = ""
    ranges: tuple[ReferenceRange, ...] = Field(min_length=1)
    critical_low: float | None = None
    critical_high: float | None = None
    decimals: int = 1
    turnaround_minutes: float = 45
    cost: float = Field(default=1, gt=0)
    """In multiples of a routine chemistry test."""
    drug: str = ""
    """Drug whose concentration it is; 0 in people who have not taken it."""
    specimen: Literal["blood", "urine", "csf", "other"] = "blood"
    source: str = Field(min_length=8)

    def reference_range(self, sex: str, age_years: float) -> ReferenceRange:
        """Return the limits for this sex and age; the first band that fits."""
        for limits in self.ranges:
            if limits.sex in ("any", sex) and limits.from_years <= age_years < limits.to_years:
                return limits
        return self.ranges[-1]


class StudyKind(Fact):
    """An imaging or bedside study that can be ordered."""

    id: str
    name: str
    turnaround_minutes: float = Field(gt=0)
    cost: float = Field(gt=0)
    """In multiples of a routine chemistry test."""
    normal: str
    """What the report says when nothing is found."""
    source: str = Field(min_length=8)


class Guideline(Fact):
    """One statement of a guideline, in our own words."""

    id: str
    title: str
    statement: str
    topics: tuple[str, ...] = Field(min_length=1)
    conditions: tuple[str, ...] = ()
    population: str
    """Whom it is about."""
    strength: str = ""
    """As the guideline grades it; empty when it does not or several grades are joined."""
    source: str = Field(min_length=8)
    year: int = Field(ge=1950, le=2100)
