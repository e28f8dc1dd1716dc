"""Types of the drug facts in `drugs/`, `interactions/` and `allergy_groups.yaml`."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from .schema import Fact

Severity = Literal["contraindicated", "major", "moderate", "minor"]
SEVERITIES: tuple[Severity, ...] = ("minor", "moderate", "major", "contraindicated")
"""Least severe first."""
Action = Literal["avoid", "change_drug", "reduce_dose", "monitor", "separate_hours"]
Role = Literal["substrate", "inhibitor", "inducer"]
Trimester = Literal[1, 2, 3]


class Dose(Fact):
    """A usual adult dose."""

    dose_mg: float = Field(gt=0)
    times_per_day: float = Field(gt=0)


class RenalBand(Fact):
    """What to do below a creatinine clearance in mL/min (Cockcroft-Gault, unless the note says eGFR)."""

    below: float
    includes_limit: bool = False
    """True when the label says "at or below"."""
    max_daily_mg: float | None = None
    avoid: bool = False
    note: str = ""

    def holds(self, ml_min: float) -> bool:
        """Tell whether a clearance in mL/min falls below the limit."""
        return ml_min < self.below or (self.includes_limit and ml_min == self.below)


class Advice(Fact):
    """Pregnancy or breastfeeding advice."""

    level: Literal["compatible", "caution", "avoid"]
    reason: str = ""
    avoid_trimesters: tuple[Trimester, ...] = ()
    """Pregnancy only; level `avoid` names at least one, and a lower level may still forbid one."""


class OlderDose(Fact):
    """A lower ceiling above an age."""

    over_years: int
    max_daily_mg: float = Field(gt=0)


@dataclass(frozen=True, slots=True)
class Contraindication:
    """Why a drug must not (absolute), or only for a good reason (relative), be given in a condition."""

    condition: str
    reason: str
    absolute: bool


class Drug(Fact):
    """One drug. A missing number is unknown, not zero."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    name: str
    classes: tuple[str, ...] = Field(min_length=1)
    aliases: tuple[str, ...] = ()
    indications: tuple[str, ...] = Field(min_length=1)
    routes: tuple[str, ...] = ("oral",)
    usual_dose: Dose | None = None
    max_daily_mg: float | None = None
    older_dose: OlderDose | None = None
    renal: tuple[RenalBand, ...] = ()
    """Bands from the lowest limit up; the first that fits holds."""
    hepatic: dict[Literal["A", "B", "C"], Literal["avoid", "reduce", "none"]] = {}
    """By Child-Pugh class."""
    cyp: dict[str, dict[Role, str]] = {}
    """Enzyme to role to strength: strong, moderate, weak; for substrates sensitive, moderate, weak or prodrug."""
    transporters: dict[str, tuple[Role, ...]] = {}
    qt_risk: Literal["known", "possible", "conditional", "none"] = "none"
    """CredibleMeds categories; `none` also stands for not listed."""
    serotonergic: bool = False
    anticholinergic: bool = False
    bleeding: bool = False
    sedative: bool = False
    over_the_counter: bool = False
    potassium: Literal["raises", "lowers", "none"] = "none"
    pregnancy: Advice | None = None
    lactation: Advice | None = None
    beers: str = ""
    """Advice for age 65 and over, AGS Beers Criteria 2023; empty when there is none."""
    beers_advice: Literal["avoid", "avoid_with", "caution", "none"] = "none"
    """What `beers` amounts to: avoid in everyone, avoid with a condition, clearance, purpose or duration, or take care."""
    contraindications: dict[str, str] = {}
    """Condition to reason."""
    relative_contraindications: dict[str, str] = {}
    """Condition to reason; a good reason may outweigh it."""
    allergy_group: str = ""
    cross_reactive: tuple[str, ...] = ()
    """Drug ids that share a side chain."""
    alternatives: dict[str, str] = {}
    """Drug id to when it is the better choice."""
    abrupt_stop: str = ""
    """What stopping at once may cause."""
    monitoring: tuple[str, ...] = ()
    source: str = Field(min_length=4)

    @model_validator(mode="after")
    def _advice_is_complete(self) -> "Drug":
        if bool(self.beers) != (self.beers_advice != "none"):
            raise ValueError("beers (words) and beers_advice (category) belong together")
        if self.pregnancy and self.pregnancy.level == "avoid" and not self.pregnancy.avoid_trimesters:
            raise ValueError("pregnancy level 'avoid' needs avoid_trimesters")
        return self

    @property
    def drug_class(self) -> tuple[str, ...]:
        """The classes, narrowest first."""
        return self.classes

    def contraindicated_in(self, condition: str) -> Contraindication | None:
        """Return why the drug should not be given in a condition, or None."""
        if condition in self.contraindications:
            return Contraindication(condition, self.contraindications[condition], True)
        if condition in self.relative_contraindications:
            return Contraindication(condition, self.relative_contraindications[condition], False)
        return None

    def avoid_in_trimester(self, trimester: int) -> bool:
        """Tell whether the drug is to be avoided in a trimester (1 to 3) of pregnancy."""
        return self.pregnancy is not None and trimester in self.pregnancy.avoid_trimesters

    def has_role(self, pathway: str, *roles: Role) -> bool:
        """Tell whether the drug plays one of the roles in an enzyme or transporter."""
        known = {*self.cyp.get(pathway, {}), *self.transporters.get(pathway, ())}
        return any(role in known for role in roles)


class Interaction(Fact):
    """What happens between two drugs. `replace` and `alternative` say which is exchanged for what."""

    a: str
    b: str
    severity: Severity
    mechanism: str
    effect: str
    action: Action
    replace: str = ""
    alternative: str = ""
    limit_daily_mg: float | None = None
    separate_hours: float | None = None
    """Hours between the two by mouth."""
    monitor: tuple[str, ...] = ()
    """What to watch."""
    source: str = Field(min_length=4)

    @property
    def pair(self) -> frozenset[str]:
        """The two drug ids."""
        return frozenset((self.a, self.b))

    @property
    def kind(self) -> Literal["pharmacokinetic", "pharmacodynamic"]:
        """Whether concentrations or effects change."""
        kinetic = self.mechanism in KINETIC or self.mechanism.startswith("CYP")
        return "pharmacokinetic" if kinetic else "pharmacodynamic"


PATHWAYS = (
    "CYP1A2", "CYP2B6", "CYP2C8", "CYP2C9", "CYP2C19", "CYP2D6", "CYP3A4", "UGT", "xanthine_oxidase", "P-gp", "BCRP",
    "OATP1B1", "OAT",
)  # fmt: skip
"""Enzymes and transporters that may be the mechanism of an interaction."""
KINETIC = (
    *PATHWAYS, "absorption", "lithium_clearance", "renal_clearance", "enzyme_induction", "exposure_increase",
    "glucuronidation", "valproate_clearance", "inr_rise",
)  # fmt: skip


class AllergyGroup(Fact):
    """A group of substances that react alike: what charts call it, and drugs outside it that may react too."""

    id: str
    aliases: tuple[str, ...] = ()
    cross_reactive: tuple[str, ...] = ()
    """Drug ids to avoid when only the group is recorded and not its member."""
    reason: str = ""
    source: str = Field(min_length=8)
