"""Types of the drug facts in `drugs/` and `interactions/`."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from .schema import Fact

Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
"""Lower snake case; for a drug its international non-proprietary name."""
Milligrams = Annotated[float, Field(gt=0)]
Pathway = Literal[
    "CYP1A2", "CYP2B6", "CYP2C8", "CYP2C9", "CYP2C19", "CYP2D6", "CYP3A4", "UGT", "xanthine_oxidase", "TPMT", "MAO_A",
    "P-gp", "BCRP", "OATP1B1", "OAT", "MATE",
]  # fmt: skip
"""Enzymes and transporters that interactions rest on."""
Strength = Literal["strong", "moderate", "weak"]
"""FDA: strong changes a sensitive substrate's exposure 5-fold (inducer: by 80 %), moderate 2 to 5-fold (50 to 80 %)."""
SubstrateRole = Literal["sensitive", "major", "minor", "activation"]
"""How much the drug depends on the pathway; `activation` means the pathway makes the active form of a prodrug."""
QtRisk = Literal["none", "conditional", "possible", "known"]
"""Torsades risk, least first, in CredibleMeds' categories."""
Parameter = Literal[
    "inr", "creatinine", "potassium", "sodium", "ecg_qtc", "drug_level", "liver_enzymes", "creatine_kinase",
    "blood_pressure", "heart_rate", "glucose", "blood_count", "sedation", "bleeding_signs", "serotonin_signs",
    "thyroid_function",
]  # fmt: skip
"""What can be put on a monitoring plan."""
Effect = Literal[
    "bradycardia", "hypotension", "hypoglycaemia", "hyponatraemia", "nephrotoxic", "ototoxic", "myopathy",
    "lowers_seizure_threshold", "myelosuppression", "dopamine_antagonist", "dopaminergic", "vasoconstrictor",
    "raises_blood_pressure", "neuromuscular_block", "intracranial_hypertension", "fluid_retention",
]  # fmt: skip
ChildPugh = Literal["A", "B", "C"]
Severity = Literal["minor", "moderate", "major", "contraindicated"]
SEVERITIES: tuple[Severity, ...] = ("minor", "moderate", "major", "contraindicated")
"""Least severe first."""
PharmacokineticMechanism = Literal[
    "enzyme_inhibition", "enzyme_induction", "transporter_inhibition", "absorption", "renal_excretion"
]
PharmacodynamicMechanism = Literal[
    "additive_bleeding", "additive_qt", "serotonin_toxicity", "additive_sedation", "hyperkalaemia", "hypokalaemia",
    "additive_hypotension", "additive_bradycardia", "nephrotoxicity", "hypoglycaemia", "antagonism", "myopathy",
    "myelosuppression", "seizure_threshold", "anticholinergic_burden", "hypertensive_crisis", "ototoxicity",
    "hyponatraemia", "intracranial_hypertension", "neuromuscular_block", "hypercalcaemia", "mucosal_injury",
]  # fmt: skip
Mechanism = PharmacokineticMechanism | PharmacodynamicMechanism
Action = Literal["avoid", "change_drug", "reduce_dose", "monitor", "separate"]


class Dose(Fact):
    """Usual adult dose for the main indication."""

    dose_mg: Milligrams | None = None
    dose_mg_per_kg: Milligrams | None = None
    times_per_day: float = Field(default=1.0, gt=0)
    """0.143 is once a week; as-needed drugs give the highest usual frequency."""
    max_daily_mg: Milligrams | None = None
    single_dose: bool = False
    """Given once, in an emergency or as a full course."""
    note: str = ""


class OlderDose(Fact):
    """A lower ceiling above an age."""

    over_years: int
    max_daily_mg: Milligrams
    reason: str


class RenalBand(Fact):
    """Advice for one range of renal function. Either `below_ml_min` (exclusive) or `up_to_ml_min` (inclusive) ends it."""

    from_ml_min: float = Field(default=0, ge=0)
    below_ml_min: float | None = None
    up_to_ml_min: float | None = None
    action: Literal["avoid", "reduce", "caution", "no_change"]
    max_daily_mg: Milligrams | None = None
    note: str = ""

    @model_validator(mode="after")
    def _one_end(self) -> "RenalBand":
        if (self.below_ml_min is None) == (self.up_to_ml_min is None):
            raise ValueError("a renal band needs either below_ml_min or up_to_ml_min")
        return self

    def holds(self, ml_min: float) -> bool:
        """Tell whether this renal function falls into the band."""
        ends_before = (
            ml_min <= self.up_to_ml_min if self.up_to_ml_min is not None else ml_min < (self.below_ml_min or 0)
        )
        return ml_min >= self.from_ml_min and ends_before


class HepaticAdvice(Fact):
    """Advice for one Child-Pugh class."""

    action: Literal["avoid", "reduce", "caution", "none"]
    max_daily_mg: Milligrams | None = None
    note: str = ""


class Pregnancy(Fact):
    """Use in pregnancy."""

    advice: Literal["compatible", "caution", "avoid"]
    avoid_trimesters: tuple[Literal[1, 2, 3], ...] = ()
    reason: str

    @model_validator(mode="after")
    def _avoid_says_when(self) -> "Pregnancy":
        if (self.advice == "avoid") != bool(self.avoid_trimesters):
            raise ValueError("avoid_trimesters belongs to advice 'avoid' and to no other")
        return self


class Lactation(Fact):
    """Use while breastfeeding."""

    advice: Literal["compatible", "caution", "avoid"]
    reason: str


class Beers(Fact):
    """2023 AGS Beers criteria for people of 65 years and over."""

    advice: Literal["avoid", "avoid_with", "caution", "none"] = "none"
    conditions: tuple[Id, ...] = ()
    """Conditions that `avoid_with` speaks of."""
    reason: str = ""


class Contraindication(Fact):
    """A condition in which the drug must not be given (absolute) or only with a reason (relative)."""

    condition: Id
    reason: str
    absolute: bool = True


class Alternative(Fact):
    """A drug that serves the same indication."""

    drug: Id
    when: str


class Metabolism(Fact):
    """Part the drug plays in enzymes and transporters."""

    substrate: Mapping[Pathway, SubstrateRole] = {}
    inhibitor: Mapping[Pathway, Strength] = {}
    inducer: Mapping[Pathway, Strength] = {}


class Drug(Fact):
    """One drug monograph. A missing number is unknown, not zero."""

    id: Id
    name: str
    drug_class: tuple[Id, ...] = Field(min_length=1)
    """Narrowest first."""
    aliases: tuple[str, ...] = ()
    indications: tuple[Id, ...] = Field(min_length=1)
    routes: tuple[
        Literal["oral", "iv", "im", "sc", "inhaled", "intranasal", "rectal", "transdermal", "sublingual", "topical"],
        ...,
    ] = ("oral",)
    dose: Dose = Dose()
    older_dose: OlderDose | None = None
    renal_measure: Literal["creatinine_clearance", "egfr"] = "creatinine_clearance"
    """Cockcroft-Gault clearance in ml/min unless the label asks for eGFR in ml/min/1.73 m2."""
    renal: tuple[RenalBand, ...] = ()
    hepatic: Mapping[ChildPugh, HepaticAdvice] = {}
    metabolism: Metabolism = Metabolism()
    qt_risk: QtRisk = "none"
    serotonergic: bool = False
    anticholinergic: Annotated[int, Field(ge=0, le=3)] = 0
    """Anticholinergic cognitive burden, 0 to 3 (Boustani 2008, 2012 update)."""
    bleeding: Literal["none", "raises", "high"] = "none"
    """`high` for anticoagulants, antiplatelets and fibrinolytics; `raises` for NSAIDs, SSRIs and the like."""
    potassium: Literal["none", "raises", "lowers"] = "none"
    sedative: bool = False
    effects: tuple[Effect, ...] = ()
    pregnancy: Pregnancy | None = None
    lactation: Lactation | None = None
    beers: Beers = Beers()
    contraindications: tuple[Contraindication, ...] = ()
    allergy_group: Id | None = None
    side_chain: Id | None = None
    """Beta-lactams with the same R1 side chain share this."""
    duplication_class: Id | None = None
    """Two drugs of one such class are a therapeutic duplication."""
    alternatives: tuple[Alternative, ...] = ()
    monitoring: tuple[Parameter, ...] = ()
    source: str = Field(min_length=8)

    def contraindicated_in(self, condition: str) -> Contraindication | None:
        """Return why the drug must not be given in a condition, or None."""
        return next((item for item in self.contraindications if item.condition == condition), None)


class AllergyGroup(Fact):
    """Substances that react alike, and what they cross-react with."""

    id: Id
    name: str
    aliases: tuple[str, ...] = ()
    reason: str
    shares_side_chains: tuple[Id, ...] = ()
    """Side chains that an unspecified allergy to the group may be directed at."""
    source: str = Field(min_length=8)


class Rule(Fact):
    """An interaction as written: two sides, each drugs or selectors. Side `a` acts on side `b` when kinetics are at work."""

    a: tuple[str, ...] = Field(min_length=1)
    b: tuple[str, ...] = Field(min_length=1)
    severity: Severity
    mechanism: Mechanism
    pathway: Pathway | None = None
    effect: str
    action: Action
    advice: str
    change: Literal["a", "b", "either"] = "either"
    """Which side is usually changed."""
    max_daily_mg: Mapping[Id, Milligrams] = {}
    monitor: tuple[Parameter, ...] = ()
    separate_hours: float | None = None
    alternatives: Mapping[str, tuple[Id, ...]] = {}
    """Drug or selector to what can replace it."""
    source: str = Field(min_length=8)

    @model_validator(mode="after")
    def _parts_agree(self) -> "Rule":
        kinetic = self.mechanism in ("enzyme_inhibition", "enzyme_induction", "transporter_inhibition")
        if kinetic != (self.pathway is not None):
            raise ValueError("pathway belongs to enzyme and transporter mechanisms, and to no other")
        if (self.action == "separate") != (self.separate_hours is not None):
            raise ValueError("separate_hours belongs to action 'separate', and to no other")
        if self.action == "monitor" and not self.monitor:
            raise ValueError("action 'monitor' needs what to monitor")
        return self


class Interaction(Fact):
    """One pair of drugs and what happens when they are taken together."""

    id: str
    """Both drug ids in alphabetical order joined by '+'."""
    drugs: tuple[Id, Id]
    severity: Severity
    mechanism: Mechanism
    pathway: Pathway | None = None
    acting: Id | None = None
    """The drug that changes the other's concentration; None when both act alike."""
    affected: Id | None = None
    effect: str
    action: Action
    advice: str
    change: tuple[Id, ...]
    """The drugs of the pair that are usually changed."""
    max_daily_mg: Mapping[Id, Milligrams] = {}
    monitor: tuple[Parameter, ...] = ()
    separate_hours: float | None = None
    alternatives: Mapping[Id, tuple[Id, ...]] = {}
    """Drug of the pair to what can replace it."""
    also: tuple[Mechanism, ...] = ()
    """Further mechanisms by which the same pair interacts."""
    source: str

    @property
    def rank(self) -> int:
        """Severity as a number, 0 (minor) to 3 (contraindicated)."""
        return SEVERITIES.index(self.severity)

    @property
    def kind(self) -> Literal["pharmacokinetic", "pharmacodynamic"]:
        """Whether concentrations or effects change."""
        kinetic = ("enzyme_inhibition", "enzyme_induction", "transporter_inhibition", "absorption", "renal_excretion")
        return "pharmacokinetic" if self.mechanism in kinetic else "pharmacodynamic"

    def other(self, drug: str) -> str:
        """Return the partner of one drug of the pair."""
        return self.drugs[1] if drug == self.drugs[0] else self.drugs[0]
