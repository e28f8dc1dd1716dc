"""A patient's chart: typed and frozen. What an episode changes lives in `State`, never here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from healthgym.errors import ContentError, nearest

Sex = Literal["female", "male"]
Reveal = Literal["ask", "examine", "order", "record"]


@dataclass(frozen=True, kw_only=True, slots=True)
class VitalSigns:
    """One set of vital signs; None where it was not or cannot be measured."""

    temperature_c: float | None = None
    heart_rate_per_min: int | None = None
    respiratory_rate_per_min: int | None = None
    systolic_bp_mmhg: int | None = None
    diastolic_bp_mmhg: int | None = None
    spo2_percent: int | None = None
    gcs: int | None = None
    """Glasgow Coma Scale total, 3 to 15."""
    pain_0_10: int | None = None
    glucose_mg_dl: float | None = None
    """Capillary glucose."""
    oxygen_l_min: float = 0.0
    """Supplemental oxygen; 0 is room air."""


_VITAL_SIGNS = tuple(each.name for each in fields(VitalSigns))


def check_vital_signs(names: Iterable[str]) -> None:
    """Raise ContentError for a name that is no vital sign, offering the nearest."""
    for name in names:
        if name not in _VITAL_SIGNS:
            raise ContentError(f"No vital sign {name!r}.{nearest(name, _VITAL_SIGNS)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One fact about the patient that only the matching action reveals.

    `present` is False for a pertinent negative. `text` is the clinical wording an examiner or a record gives;
    `lay` is what the patient says when asked. `topics` are lower-case words that a question about it would use.
    """

    id: str
    reveal: Reveal
    present: bool
    text: str
    lay: str = ""
    topics: tuple[str, ...] = ()
    system: str = ""
    """Body system for `examine` (for example "cardiovascular"), or study id for `order` (for example "ecg")."""
    value: float | str | None = None
    unit: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabResult:
    """The value an order of this analyte would return, at arrival and later.

    `later` holds (minute, value) pairs in order: from that minute on the result is that value.
    """

    analyte: str
    value: float | str
    unit: str = ""
    later: tuple[tuple[float, float | str], ...] = ()

    def at(self, minutes: float) -> float | str:
        """Return the value of a sample taken at `minutes` since arrival."""
        taken = [value for since, value in self.later if since <= minutes]
        return taken[-1] if taken else self.value


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """What an imaging or bedside study (ECG, chest film, CT) would report."""

    id: str
    report: str
    findings: tuple[str, ...] = ()
    """Finding ids that the report reveals."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Something that happens by the clock and is told to the agent without its asking.

    It happens at `minute`, unless the state then meets `unless` (by path, such as {"P1.given": {"contains": "aspirin"}}),
    and reveals `facts`: (key, value, unit), keys without the patient id. `vital_signs` are changed from then on.
    """

    minute: float
    text: str
    facts: tuple[tuple[str, float | str | bool | None, str], ...] = ()
    vital_signs: Mapping[str, float | None] = field(default_factory=dict)
    unless: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_vital_signs(self.vital_signs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Medication:
    """A medicine the patient takes. `drug` is an id of the knowledge base."""

    drug: str
    dose_mg: float
    route: str = "oral"
    times_per_day: float = 1.0
    indication: str = ""
    as_needed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Allergy:
    """A recorded allergy. `substance` is a drug id, a drug class or another substance."""

    substance: str
    reaction: str = ""
    severity: Literal["mild", "moderate", "severe", "unknown"] = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Persona:
    """How the simulated patient talks."""

    style: Literal["plain", "chatty", "terse", "anxious", "confused"] = "plain"
    reticent_topics: tuple[str, ...] = ()
    """Topics told only when asked directly a second time."""
    informant: Literal["patient", "relative", "carer", "none"] = "patient"


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """One patient at the start of an episode, hidden truth included.

    Vital signs are a trajectory: the set in force at minute t is the last whose minute is <= t.
    """

    patient_id: str
    age_years: float
    sex: Sex
    weight_kg: float
    height_cm: float | None = None
    pregnancy_weeks: float | None = None
    lactating: bool = False
    chief_complaint: str = ""
    """Opening words, lay."""
    arrival: str = ""
    comorbidities: tuple[str, ...] = ()
    """Known conditions: knowledge-base condition ids or plain names."""
    condition: str = ""
    """Hidden truth: knowledge-base condition id."""
    severity: str = ""
    """Hidden truth: severity level of the condition profile."""
    vital_signs: tuple[tuple[float, VitalSigns], ...] = ()
    findings: tuple[Finding, ...] = ()
    lab_results: Mapping[str, LabResult] = field(default_factory=dict)
    studies: Mapping[str, Study] = field(default_factory=dict)
    medications: tuple[Medication, ...] = ()
    allergies: tuple[Allergy, ...] = ()
    persona: Persona = field(default_factory=Persona)
    events: tuple[Event, ...] = ()
    """What happens to the patient during the episode, in order of time."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What only one domain needs, JSON-like."""

    def vital_signs_at(self, minutes: float) -> VitalSigns:
        """Return the vital signs in force at `minutes` of simulated time since arrival."""
        current = self.vital_signs[0][1] if self.vital_signs else VitalSigns()
        for since, vital_signs in self.vital_signs:
            if since > minutes:
                break
            current = vital_signs
        return current

    def finding(self, finding_id: str) -> Finding | None:
        """Return the finding with this id, or None."""
        return next((finding for finding in self.findings if finding.id == finding_id), None)
