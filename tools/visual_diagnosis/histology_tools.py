"""Tools that measure histology fields."""

from healthgym.toolkit import tool

from .look_tools import LookTools
from .measures.histology import eosinophils, nuclei


class HistologyTools(LookTools):
    """Measurements on the pixels of a stained tissue field."""

    @tool(minutes=2)
    def count_nuclei(self, image_id: str) -> str:
        """Count the nuclei of a field that are stained brown (positive) and blue or purple (negative), and measure them.

        Args:
            image_id: For example tissue-a.
        """
        image = self.image(image_id, "histology")
        found = image.measure(nuclei)
        self.measured(image, "nuclei", found["positive"])
        total = found["positive"] + found["negative"]
        share = f" ({100 * found['positive'] / total:.0f} % positive)" if total else ""
        return (
            f"{image_id}: {found['positive']} brown, {found['negative']} blue or purple{share}; mean area "
            f"{found['area_um2']:.0f} um2, varies by {100 * found['area_spread']:.0f} %"
        )

    @tool(minutes=2)
    def count_eosinophils(self, image_id: str) -> str:
        """Count the cells of a field with bright red cytoplasm.

        Args:
            image_id: For example tissue-a.
        """
        image = self.image(image_id, "histology")
        found = image.measure(eosinophils)
        self.measured(image, "eosinophils", found)
        return f"{image_id}: {found} eosinophils"
