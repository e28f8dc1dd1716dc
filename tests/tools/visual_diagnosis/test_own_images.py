"""A folder of images and a table of labels become a domain that proves itself."""

import json

import numpy as np
import pytest

from healthgym.errors import ConfigError, ContentError
from healthgym.registry import load_domain
from healthgym.tasks import Suite
from healthgym.toolkit.pictures import png
from healthgym.tools.visual_diagnosis.own_images import read_labels, split_of, write_domain
from healthgym.validation import validate

pytest.importorskip("PIL")
pytest.importorskip("skimage")


def make_set(folder, count=60):
    """Write squares that are bright in the middle ("spot") or not ("plain"), and return the table's path."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    lines = ["file,label,patient"]
    for number in range(count):
        pixels = rng.integers(60, 90, (40, 40)).astype(np.uint8)
        if number % 2:
            pixels[12:28, 12:28] = 220
        (folder / f"{number:03d}.png").write_bytes(png(pixels))
        lines.append(f"{number:03d}.png,{'spot' if number % 2 else 'plain'},patient{number // 2}")
    table = folder / "labels.csv"
    table.write_text("\n".join(lines) + "\n")
    return table


def test_a_folder_with_labels_becomes_a_proved_domain(tmp_path):
    table = make_set(tmp_path / "squares")
    out = write_domain(tmp_path / "squares", table, tmp_path / "spots", question="Is there a spot?", mm_per_px=0.5)
    domain = load_domain(out)
    proof = validate(domain, sample=6)
    assert proof["failures"] == [] and proof["oracle_min"] == 1.0
    suite = Suite([domain])
    shown = [entry["source"]["file"] for case in suite.cases() for entry in case.charts["P1"].extra["images"].values()]
    assert len(shown) == len(set(shown)) == 60


def test_a_patient_stays_in_one_split_whatever_is_added():
    names = [f"patient{number}" for number in range(1000)]
    counts = [sum(split_of(name) == split for name in names) for split in ("train", "val", "test")]
    # 70, 8 and 22 % of 1000, give or take three standard deviations (about 44, 26 and 39).
    assert abs(counts[0] - 700) < 44 and abs(counts[1] - 80) < 26 and abs(counts[2] - 220) < 39


def test_labels_may_be_json(tmp_path):
    make_set(tmp_path / "squares", 4)
    table = tmp_path / "labels.json"
    table.write_text(json.dumps({"000.png": "plain", "001.png": "spot"}))
    assert [item.label for item in read_labels(tmp_path / "squares", table)] == ["plain", "spot"]


@pytest.mark.parametrize(
    "rows, words",
    [("name,label\na.png,x\n", "expected 'file' and 'label'"), ("file,label\nnone.png,x\n", "no file"),
     ("file,label\n000.png,plain\n", "at least two different labels")],
)  # fmt: skip
def test_a_faulty_table_is_refused_with_its_remedy(tmp_path, rows, words):
    make_set(tmp_path / "squares", 2)
    table = tmp_path / "labels.csv"
    table.write_text(rows)
    with pytest.raises(ContentError, match=words):
        read_labels(tmp_path / "squares", table)


def test_a_folder_that_exists_is_never_overwritten(tmp_path):
    table = make_set(tmp_path / "squares", 2)
    with pytest.raises(ConfigError, match="give a new folder"):
        write_domain(tmp_path / "squares", table, tmp_path / "squares", question="?")
