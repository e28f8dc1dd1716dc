"""Types of the pathway files: doses, treatments, branches, twists, deadlines and what a handover must say."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from healthgym.tasks.criteria import Severity

Service = Literal[
    "emergency", "cath_lab", "coronary_care", "angiography_suite", "stroke_unit", "intensive_care", "high_dependency",
    "acute_medicine", "medical_ward", "surgical_ward", "endoscopy_unit", "labour_ward", "paediatric_ward",
    "paediatric_intensive_care", "theatre", "orthopaedic_ward", "psychiatry_ward", "home",
]  # fmt: skip
"""Where a patient can be; `home` ends hospital care."""
PathwayName = Literal[
    "chest_pain", "dka", "stroke", "sepsis", "postoperative_pe", "paediatric_fever", "gi_bleed", "eclampsia", "overdose",
    "hip_fracture",
]  # fmt: skip
Unit = Literal["mg", "g", "micrograms", "units", "mL", "mmol", "mmol/h", "units/h", "mL/h", "mg/h", "micrograms/min"]
Specialty = Literal[
    "cardiology", "cardiac_surgery", "stroke_team", "neurosurgery", "intensive_care", "surgery", "gastroenterology",
    "obstetrics", "paediatrics", "psychiatry", "toxicology", "orthogeriatrics", "haematology",
]  # fmt: skip
Pair = tuple[float, float]


class Entry(BaseModel):
    """Base of every entry: frozen, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DoseRule(Entry):
    """How much of a drug is right: a fixed amount, an amount by weight, or a table by weight; never both."""

    drug: str
    use: str
    """What it is given for here."""
    unit: Unit
    flat: Pair | None = None
    """Lowest and highest right amount."""
    per_kg: Pair | None = None
    max: float | None = None
    """Upper limit of an amount by weight."""
    bands: tuple[Pair, ...] = ()
    """(weight in kg below which it holds, amount), in order of weight."""
    from_years: float | None = None
    """From this age on the amount is multiplied by `older_factor`."""
    older_factor: float = 1.0
    text: str
    """The rule as a clinician reads it."""
    source: str = Field(min_length=8)
    at: tuple[Service, ...] = ()
    """Services that can give it; any when empty."""

    @model_validator(mode="after")
    def _one_rule(self) -> "DoseRule":
        if sum(bool(rule) for rule in (self.flat, self.per_kg, self.bands)) != 1:
            raise ValueError(f"dose of {self.drug}: give exactly one of flat, per_kg and bands")
        return self


class Treatment(Entry):
    """Something that is done rather than dosed."""

    name: str
    at: tuple[Service, ...] = ()
    """Services that can do it; any when empty."""


class Told(Entry):
    """A fact of this pathway that the patient tells when asked, or that an examination finds."""

    id: str
    system: str = ""
    """Body system for a sign; empty for what is asked."""
    topics: tuple[str, ...] = ()
    lay: str = ""
    """The patient's words; {value} stands for the number drawn."""
    other: str = ""
    """The words of whoever came along."""
    text: str = ""
    present: bool = True
    value: Pair | None = None
    """Range that the number is drawn from."""


class Limit(Entry):
    """A published time limit of one step."""

    step: str
    within: float
    """Minutes since arrival."""
    severity: Severity = "serious"
    source: str = Field(min_length=8)


class Guard(Entry):
    """What must be known or true before a step; breaking it is a hazard whatever the branch."""

    step: str
    known: tuple[str, ...] = ()
    """Fact keys, any of which must have been seen."""
    vital_sign: str = ""
    lab: str = ""
    at_least: float | None = None
    below: float | None = None
    severity: Severity = "critical"
    label: str


class Effect(Entry):
    """What a step does to the patient, so many minutes later."""

    step: str
    after: float = 10
    vital_signs: dict[str, float] = {}
    labs: dict[str, float] = {}


class Happening(Entry):
    """What happens at a minute unless a step was taken."""

    minute: float
    text: str
    unless: str = ""
    vital_signs: dict[str, float] = {}


class Due(Entry):
    """The next timed action after the episode."""

    action: str
    minutes: Pair


class Branch(Entry):
    """One course of a pathway: who the patient is, what is hidden, and the right path."""

    id: str
    held_out: bool = False
    """Appears in test_ood only."""
    condition: str
    severity: str = ""
    age: Pair
    sex: Literal["female", "male", "any"] = "any"
    pregnancy_weeks: Pair | None = None
    weight_kg: Pair | None = None
    comorbidities: tuple[str, ...] = ()
    medicines: tuple[str, ...] = ()
    complaint: str = ""
    informant: Literal["", "patient", "relative", "none"] = ""
    gcs: int | None = None
    present: tuple[str, ...] = ()
    """Symptoms and signs of the knowledge base that this patient has."""
    absent: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    """Findings of the condition that say nothing beside the others."""
    told: tuple[Told, ...] = ()
    vital_signs: dict[str, Pair] = {}
    labs: dict[str, Pair] = {}
    studies: dict[str, str] = {}
    reports: dict[str, str] = {}
    """What a treatment such as an endoscopy finds."""
    directory: dict[str, str] = {}
    """State of the services, as the directory gives it."""
    steps: tuple[str, ...]
    """The right path, one `verb argument` each; see `steps.py`."""
    limits: tuple[Limit, ...] = ()
    sequence: tuple[tuple[str, str], ...] = ()
    """Pairs of steps: the first must come before the second."""
    avoid: dict[str, str] = {}
    """Drug or treatment to why it harms here; a critical hazard."""
    neutral: tuple[str, ...] = ()
    """Drugs and treatments that neither help nor harm here."""
    effects: tuple[Effect, ...] = ()
    happenings: tuple[Happening, ...] = ()
    notes: dict[str, dict[str, tuple[str, ...]]] = {}
    """Service handed over to -> heading -> phrases of which one must stand in the note."""
    decision: str
    disposition: Service
    next: Due


class Twist(Entry):
    """A complication that changes one thing of the right path; drawn for hard tasks."""

    id: str
    branches: tuple[str, ...]
    allergy: str = ""
    reaction: str = "anaphylaxis"
    comorbidity: str = ""
    medicine: str = ""
    clearance: Pair | None = None
    """Creatinine clearance in mL/min to draw from."""
    labs: dict[str, Pair] = {}
    swap: dict[str, str] = {}
    """Dose or treatment id to the one that replaces it."""
    extra_steps: tuple[str, ...] = ()
    """Looking steps that it needs, put before the first dose."""
    avoid: dict[str, str] = {}
    source: str = Field(min_length=8)


class Pathway(Entry):
    """One pathway: its rules, doses, services and branches."""

    id: PathwayName
    title: str
    start: Service
    guide: str = Field(min_length=200)
    """The rules as the agent can look them up."""
    services: dict[Service, str]
    """Service to the brief that whoever works there is given."""
    doses: dict[str, DoseRule]
    treatments: dict[str, Treatment] = {}
    consults: dict[Specialty, str] = {}
    guards: tuple[Guard, ...] = ()
    headings: dict[str, dict[str, str]]
    """Service handed over to -> heading -> what to write under it."""
    decisions: Annotated[tuple[str, ...], Field(min_length=2)]
    next_actions: Annotated[tuple[str, ...], Field(min_length=2)]
    branches: tuple[Branch, ...]
    twists: tuple[Twist, ...] = ()
    sources: tuple[str, ...] = Field(min_length=1)

    def branch(self, name: str) -> Branch:
        """Return the branch of this id."""
        return next(branch for branch in self.branches if branch.id == name)
