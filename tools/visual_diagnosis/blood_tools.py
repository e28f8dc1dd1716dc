"""Tools that measure blood films."""

from collections import Counter

import numpy as np

from healthgym.errors import ToolError
from healthgym.toolkit import tool

from .look_tools import LookTools
from .measures.blood import counts, red_cells

SHAPES = {
    "pale": "pale centre over a third of the width",
    "dense": "small, round, without pale centre",
    "elongated": "elongated, over 2.4 times as long as wide",
    "fragment": "fragments",
    "usual": "of usual look",
}


class BloodTools(LookTools):
    """Measurements on the pixels of a stained blood film."""

    @tool(minutes=2)
    def count_blood_cells(self, image_id: str) -> str:
        """Count red cells, white cells and platelets in a field of a blood film.

        Args:
            image_id: For example film-a.
        """
        image = self.image(image_id, "blood_film")
        found = image.measure(counts)
        self.measured(image, "counts", found["red"])
        return (
            f"{found['red']} red cells, {found['lobed']} white cells with lobed nucleus, {found['round']} with round nucleus, "
            f"{found['platelets']} platelets"
        )

    @tool(minutes=2)
    def red_cell_shapes(self, image_id: str) -> str:
        """Measure the red cells of a field: width, pale centre, and how many have which shape.

        Args:
            image_id: For example film-a.
        """
        image = self.image(image_id, "blood_film")
        cells = image.measure(red_cells)
        if not cells:
            raise ToolError(f"No whole red cell was found on {image_id}. View it instead.")
        self.measured(image, "shapes", len(cells))
        kinds = Counter(cell.shape for cell in cells)
        width, pallor = np.median([cell.diameter_um for cell in cells]), np.median([cell.pallor for cell in cells])
        lines = [
            f"{len(cells)} whole red cells, median width {width:.1f} um, pale centre {100 * pallor:.0f} % of the width"
        ]
        return "\n".join([*lines, *(f"{kinds[name]:3d} {words}" for name, words in SHAPES.items())])

    @tool(minutes=2)
    def count_inclusions(self, image_id: str) -> str:
        """Count the red cells of a field that hold a purple inclusion.

        Args:
            image_id: For example film-a.
        """
        image = self.image(image_id, "blood_film")
        cells = image.measure(red_cells)
        if not cells:
            raise ToolError(f"No whole red cell was found on {image_id}. View it instead.")
        held = sum(cell.has_inclusion for cell in cells)
        self.measured(image, "inclusions", held)
        return f"{image_id}: {held} of {len(cells)} red cells hold an inclusion ({100 * held / len(cells):.1f} %)"
