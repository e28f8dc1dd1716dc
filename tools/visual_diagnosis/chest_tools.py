"""Tools that measure chest films."""

from healthgym.toolkit import tool

from .look_tools import LookTools
from .measures.chest import cardiothoracic, opacities, pleura


class ChestTools(LookTools):
    """Measurements on the pixels of a frontal chest film."""

    @tool(minutes=2)
    def cardiothoracic_ratio(self, image_id: str) -> str:
        """Measure greatest heart width, inner thoracic width and their ratio on a chest film.

        Args:
            image_id: For example film-1.
        """
        image = self.image(image_id, "chest_film")
        found = image.measure(cardiothoracic)
        self.measured(image, "ctr", round(found["ratio"], 2))
        return (
            f"{image_id} ({image.view}): heart {found['heart_mm']:.0f} mm, thorax {found['thorax_mm']:.0f} mm, "
            f"ratio {found['ratio']:.2f}"
        )

    @tool(minutes=2)
    def measure_pleura(self, image_id: str) -> str:
        """Measure on both sides of a chest film the rim of free air at mid-lung and how far fluid fills the angle.

        Args:
            image_id: For example film-1.
        """
        image = self.image(image_id, "chest_film")
        found = image.measure(pleura)
        self.measured(image, "pleura", max(side["free_air_mm"] for side in found.values()), "mm")
        return "\n".join(
            f"{side:5}: free air {item['free_air_mm']:.0f} mm, angle raised {item['fluid_mm']:.0f} mm"
            for side, item in found.items()
        )

    @tool(minutes=2)
    def find_opacities(self, image_id: str) -> str:
        """Find rounded opacities surrounded by lung on a chest film: side, zone, diameter.

        Args:
            image_id: For example film-1.
        """
        image = self.image(image_id, "chest_film")
        found = image.measure(opacities)
        self.measured(image, "opacities", len(found))
        lines = [f"{item['side']} {item['zone']} zone: diameter {item['diameter_mm']:.0f} mm" for item in found]
        return "\n".join(lines) or "no rounded opacity surrounded by lung"
