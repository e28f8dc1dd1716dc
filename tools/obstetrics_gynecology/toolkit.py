"""Everything the obstetric and gynaecological service can do: look, look up, act, score, submit."""

from typing import Annotated

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.toolkit import tool

from ..evidence.toolkit import EvidenceToolkit
from ..scores.biophysical import biophysical_profile
from ..scores.bishop import bishop_score
from ..scores.early_pregnancy import hcg_trend, miscarriage_criteria
from ..scores.fetal_heart_tracing import ctg_category
from ..scores.fetal_weight import fetal_weight_hadlock
from ..scores.gestational_diabetes import gdm_one_step, gdm_two_step
from ..scores.labour_progress import labour_progress
from ..scores.newborn_apgar import apgar_score
from ..scores.obstetric_haemorrhage import haemorrhage_stage, obstetric_shock_index
from ..scores.preeclampsia import preeclampsia_criteria
from ..scores.pregnancy_dating import date_pregnancy, gestational_age
from ..scores.preterm_birth import preterm_birth_risk
from ..scores.rh_immune_globulin import rh_immune_globulin
from ..scores.vaginal_birth_after_caesarean import vbac_score
from .action_tools import ActionTools
from .fetal_tools import FetalTools
from .reference_tools import ReferenceTools
from .tables import table


def known_answers(kind: str) -> tuple[str, ...]:
    """Return every word that a field of the submission accepts: `diagnosis` or `plan`."""
    words = [word for row in table("answers").values() for word in row.get(kind, ())]
    return tuple(dict.fromkeys([*words, *(table("presentations") if kind == "diagnosis" else ())]))


class ObstetricsToolkit(FetalTools, ActionTools, ReferenceTools):
    """Tools of obstetrics and gynaecology."""

    domain = "obstetrics_gynecology"
    shared = (
        EvidenceToolkit,
        date_pregnancy,
        gestational_age,
        bishop_score,
        ctg_category,
        biophysical_profile,
        labour_progress,
        apgar_score,
        preeclampsia_criteria,
        gdm_one_step,
        gdm_two_step,
        rh_immune_globulin,
        fetal_weight_hadlock,
        preterm_birth_risk,
        vbac_score,
        obstetric_shock_index,
        haemorrhage_stage,
        hcg_trend,
        miscarriage_criteria,
    )

    @tool(effect="submit")
    def submit_decision(
        self,
        diagnosis: str = "",
        plan: str = "",
        score: Annotated[int, Field(ge=0, le=20)] | None = None,
        first_score: Annotated[int, Field(ge=0, le=20)] | None = None,
        due_date: Annotated[str, Field(max_length=10)] = "",
        gestational_age: Annotated[str, Field(max_length=8)] = "",
        anti_d_ug: Annotated[int, Field(ge=0, le=6000)] | None = None,
        fetal_weight_g: Annotated[float, Field(ge=100, le=7000)] | None = None,
    ) -> str:
        """Submit the decision and end; give the fields that the task names.

        Args:
            diagnosis: One of the words that the task lists.
            plan: One of the words that the task lists.
            score: The score that the task asks for.
            first_score: An earlier score, when the task asks for two.
            due_date: YYYY-MM-DD.
            gestational_age: Today, as 24w3d.
            anti_d_ug: Anti-D in micrograms, 0 for none.
            fetal_weight_g: Estimated fetal weight in grams.
        """
        for kind, given in (("diagnosis", diagnosis), ("plan", plan)):
            known = known_answers(kind)
            if given and given.strip().lower() not in known:
                raise ToolError(
                    f"No {kind} {given[:40]!r}.{nearest(given[:40], known)} Use a word that the task lists."
                )
        return "submitted"
