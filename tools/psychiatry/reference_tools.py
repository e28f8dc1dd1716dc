"""Tools that look things up; nothing here looks at a patient."""

from typing import Literal

from healthgym.toolkit import Toolkit, tool

from .instruments import instruments

InstrumentName = Literal["phq9", "gad7", "epds", "audit", "dast10", "cage", "ybocs", "pcl5", "mdq"]


class ReferenceTools(Toolkit):
    """What the service has written down."""

    @tool()
    def instrument_guide(self, instrument: InstrumentName) -> str:
        """List an instrument's items, by the names used for item_scores, and its scale.

        Args:
            instrument: Which one.
        """
        form = instruments()[instrument]
        lines = [f"{form.title}, {form.period}. Scores: {form.scale['legend']}"]
        lines += [f"{number:2d} {item.id}: {item.text}" for number, item in enumerate(form.items, 1)]
        return "\n".join(lines)
