"""Tasks from a user's own images: a folder of images and a table of labels become a domain folder.

python -m healthgym.tools.visual_diagnosis.own_images IMAGES --labels labels.csv --out my_images
healthgym validate my_images
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from healthgym.errors import ConfigError, ContentError, ToolError, nearest
from healthgym.tasks import AnswerField, Budget, Call, Case, Criteria, Evidence, Task
from healthgym.tasks.families import Draw, TaskFamily
from healthgym.toolkit import tool
from healthgym.world import Chart

from .look_tools import LookTools
from .measures.regions import regions

SHARES = (("train", 0.70), ("val", 0.08), ("test", 0.22))
PER_TASK = 5
SETTINGS = "images.json"
"""File of the domain folder that holds question, labels and paths."""


@dataclass(frozen=True)
class Labelled:
    """One image of a user's set. `patient` keeps all images of one person in one split; the file's name when not given."""

    file: str
    label: str
    patient: str


def read_labels(images: Path, labels: Path) -> list[Labelled]:
    """Return the labelled images of a folder.

    Args:
        images: Folder that the files are relative to.
        labels: CSV with columns file, label and optionally patient; or JSON: a list of such objects, or {file: label}.

    Raises:
        ContentError: A column is missing, a file does not exist, or there are fewer than two labels.
    """
    rows = _rows(labels)
    found = []
    for number, row in enumerate(rows, 1):
        if not row.get("file") or not row.get("label"):
            raise ContentError(
                f"{labels}, entry {number}: expected 'file' and 'label', got {sorted(row)}; name them so"
            )
        path = images / row["file"]
        if not path.is_file():
            raise ContentError(f"{labels}, entry {number}: no file {path}; correct the name, or the folder of images")
        found.append(Labelled(str(path.resolve()), str(row["label"]).strip(), str(row.get("patient") or row["file"])))
    if len({item.label for item in found}) < 2:
        raise ContentError(f"{labels}: expected at least two different labels among {len(found)} images")
    return sorted(found, key=lambda item: item.file)


def _rows(labels: Path) -> list[dict[str, str]]:
    if labels.suffix.lower() == ".json":
        data = json.loads(labels.read_text(encoding="utf-8"))
        return [{"file": key, "label": value} for key, value in data.items()] if isinstance(data, dict) else list(data)
    with labels.open(encoding="utf-8-sig", newline="") as opened:
        return [dict(row) for row in csv.DictReader(opened)]


def split_of(patient: str) -> str:
    """Return the split of a patient, by a digest of the name, so that images added later move nobody."""
    place = int.from_bytes(blake2b(patient.encode(), digest_size=6).digest(), "big") / 2**48
    for name, share in SHARES:
        if place < share:
            return name
        place -= share
    return SHARES[-1][0]


def write_domain(images: Path, labels: Path, out: Path, *, question: str, mm_per_px: float = 0.0) -> Path:
    """Write a domain folder that asks `question` of the images, and return it.

    Args:
        images: Folder of images.
        labels: Table of labels, see `read_labels`.
        out: Folder to write; its name becomes the domain's, so use small letters, digits and underscores.
        question: What is asked, for example "Is there pneumonia?".
        mm_per_px: Scale of the images; 0 when unknown.

    Raises:
        ConfigError: The folder exists already, or its name is no identifier.
        ContentError: See `read_labels`.
    """
    if not out.name.isidentifier() or out.exists():
        raise ConfigError(f"{out}: give a new folder whose name has small letters, digits and underscores only")
    items = read_labels(images, labels)
    options = sorted({item.label for item in items})
    out.mkdir(parents=True)
    settings = {
        "name": out.name,
        "question": question,
        "labels": options,
        "mm_per_px": mm_per_px,
        "images": [[item.file, item.label, item.patient] for item in items],
    }
    (out / SETTINGS).write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    (out / "domain.yaml").write_text(
        f"name: {out.name}\ntitle: {json.dumps(out.name.replace('_', ' '))}\n"
        f"description: {json.dumps(f'Look at images and label them: {question}')}\n",
        encoding="utf-8",
    )
    (out / "guideline.md").write_text(
        f"# {question}\n\nLook at every image, or measure it, before you submit a label for each.\n"
        f"Labels: {', '.join(options)}.\n",
        encoding="utf-8",
    )
    home = "from healthgym.tools.visual_diagnosis.own_images import"
    (out / "toolkit.py").write_text(
        f'"""Tools of this image set."""\n\n{home} OwnImagesToolkit\n\n\n'
        f'class Images(OwnImagesToolkit):\n    """Looks at the images and labels them."""\n\n    domain = "{out.name}"\n',
        encoding="utf-8",
    )
    (out / "tasks.py").write_text(
        f'"""Tasks of this image set."""\n\nfrom pathlib import Path\n\n{home} declare_family\n\n'
        "label_images = declare_family(Path(__file__).parent)\n",
        encoding="utf-8",
    )
    return out


class ImageLabel(BaseModel):
    """The label given to one image."""

    image_id: str = Field(max_length=40, description="Image id, for example image-1.")
    label: str = Field(max_length=200, description="One of the labels that the task names.")


class OwnImagesToolkit(LookTools):
    """Looks at, measures and labels images of a user's own set."""

    @tool(minutes=1)
    def measure_regions(self, image_id: str) -> str:
        """Measure the brightest and the darkest connected regions of an image: place, size, brightness.

        Args:
            image_id: As list_images names it, for example image-1.
        """
        image = self.image(image_id)
        found = image.measure(regions)
        self.measured(image, "regions", len(found))
        return "\n".join(
            f"{item['kind']:6} region: {100 * item['share']:.1f} % of the image, centre at {100 * item['x']:.0f} % across and "
            f"{100 * item['y']:.0f} % down, brightness {item['brightness']:.0f}"
            for item in found
        )

    @tool(effect="submit")
    def submit_labels(
        self, patient_id: str, labels: Annotated[list[ImageLabel], Field(min_length=1, max_length=20)]
    ) -> str:
        """Submit a label for every image and end.

        Args:
            patient_id: For example P1.
            labels: One entry an image.
        """
        self.world.chart(patient_id)
        known = list(self.world.charts[patient_id].extra.get("labels", ()))
        for item in labels:
            self.image(item.image_id)
            if item.label.strip().lower() not in [name.lower() for name in known]:
                raise ToolError(f"No label {item.label[:40]!r}.{nearest(item.label[:40], known)}")
        return "Labels submitted."


def declare_family(folder: Path) -> Any:
    """Return the task family of a domain folder that `write_domain` made, marked as `@task_family` would mark it."""
    settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    grouped = _grouped(settings["images"])

    def label_images(draw: Draw) -> Case:
        """Label some images of the set."""
        return _case(draw, settings, grouped[draw.split][draw.index])

    counts = {split: len(groups) for split, groups in grouped.items() if groups}
    family = TaskFamily(name="label_images", generate=label_images, counts=counts)  # type: ignore[arg-type]
    label_images.__task_family__ = family  # type: ignore[attr-defined]
    return label_images


def _grouped(images: Sequence[Sequence[str]]) -> dict[str, list[list[Sequence[str]]]]:
    """Return groups of PER_TASK images by split, in an order that tells nothing of the labels; what is left over joins the
    last group."""
    by_split: dict[str, list[Sequence[str]]] = {name: [] for name, _ in SHARES}
    for item in sorted(images, key=lambda one: blake2b(one[0].encode(), digest_size=8).digest()):
        by_split[split_of(item[2])].append(item)
    grouped: dict[str, list[list[Sequence[str]]]] = {}
    for name, items in by_split.items():
        count = max(1, len(items) // PER_TASK) if items else 0
        grouped[name] = [items[place * PER_TASK : (place + 1) * PER_TASK] for place in range(count)]
        if grouped[name]:
            grouped[name][-1] += items[count * PER_TASK :]
    return grouped


def _case(draw: Draw, settings: Mapping[str, Any], items: Sequence[Sequence[str]]) -> Case:
    """Return one task over a few images."""
    images = {
        f"image-{place}": {
            "kind": "photograph",
            "view": "",
            "taken": "own set",
            "mm_per_px": settings["mm_per_px"],
            "source": {"kind": "photograph", "file": file},
        }
        for place, (file, _, _) in enumerate(items, 1)
    }
    gold = tuple({"image_id": name, "label": item[1]} for name, item in zip(images, items, strict=True))
    chart = Chart(
        patient_id="P1",
        age_years=50.0,
        sex="female",
        weight_kg=70.0,
        extra={"images": images, "request": settings["question"], "labels": tuple(settings["labels"])},
    )
    seen = tuple(
        Evidence(any_of=(f"P1.viewed.{name}", f"P1.measured.{name}.regions"), label=f"{name} looked at")
        for name in images
    )
    prompt = (
        f"{settings['question']} Label each of the {len(images)} images of P1 with one of: "
        f"{', '.join(settings['labels'])}."
    )
    task = Task(
        id=draw.task_id,
        domain=draw.domain,
        split=draw.split,
        family=draw.family,
        seed=draw.seed,
        prompt=prompt,
        template=f"label_images/{draw.split}",
        difficulty="medium",
        criteria=Criteria(
            answer={"labels": AnswerField(gold=gold, compare="items", match=("image_id",))},
            evidence=seen,
            budget=Budget(turns=3 * len(images) + 4),
        ),
        solution=(
            Call("list_images", patient_id="P1"),
            *(Call("view_image", image_id=name) for name in images),
            *(Call("measure_regions", image_id=name) for name in images),
            Call("submit_labels", patient_id="P1", labels=[dict(item) for item in gold]),
        ),
        provenance=f"own images, labels as given, seed {draw.seed}",
    )
    return Case(task, {"P1": chart})


def main() -> None:
    """Command line of this module."""
    import argparse

    parser = argparse.ArgumentParser(description="Turn a folder of images and a table of labels into a domain.")
    parser.add_argument("images", type=Path, help="folder of images")
    parser.add_argument("--labels", type=Path, required=True, help="CSV (file, label, patient) or JSON")
    parser.add_argument("--out", type=Path, required=True, help="domain folder to write")
    parser.add_argument("--question", default="What does this image show?")
    parser.add_argument("--mm-per-px", type=float, default=0.0, help="scale; 0 when unknown")
    given = parser.parse_args()
    out = write_domain(given.images, given.labels, given.out, question=given.question, mm_per_px=given.mm_per_px)
    print(f"wrote {out}. Next: healthgym validate {out}")


if __name__ == "__main__":
    main()
