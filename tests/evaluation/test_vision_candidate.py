"""A vision-language model in this process sees the images it is shown and is measured like any other candidate."""

import os
from pathlib import Path

import numpy as np
import pytest
from answering import measured
from test_visual_benchmarks import rad_folder  # noqa: F401
from tiny_vision import save_tiny_vision

from healthgym.errors import ConfigError
from healthgym.evaluation.asking import Ask, ask_all
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.benchmarks import load_benchmark
from healthgym.toolkit import Picture

pytestmark = pytest.mark.slow  # loads torch and transformers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_vision(tmp_path_factory.mktemp("vision"))


def open_vision(path: Path, **options: float):
    from healthgym.evaluation.vision_candidate import open_vision as opened

    return opened(path, device="cpu", **options)


def shown(pixels: np.ndarray | None, text: str = "Is there pneumonia ?") -> list[dict]:
    blocks = [] if pixels is None else [Picture("x", pixels, "").block]
    return [{"role": "user", "content": [*blocks, {"type": "text", "text": text}]}]


def halves(bright_side: int) -> np.ndarray:
    pixels = np.zeros((28, 28), np.uint8)
    pixels[:, 14 * bright_side : 14 * bright_side + 14] = 255
    return pixels


def test_an_answer_depends_on_the_image_and_not_on_company(folder):
    who = open_vision(folder, temperature=1.0, max_rows=3)
    assert who.has_vision and who.template is None and set(who.hashes) >= {"weights", "chat_template", "processor"}
    prompts = [
        shown(halves(0)),
        shown(halves(1)),
        shown(None),
        shown(halves(0), "Is there pneumonia in the image ?"),
    ] * 5
    asks = [Ask(key, messages, seed=key % 4) for key, messages in enumerate(prompts)]
    together = [reply.text for reply in ask_all(who, asks, max_tokens=6)]
    alone = [next(ask_all(who, [one], max_tokens=6)).text for one in asks[:4]]
    assert together[:4] == alone == together[4:8]
    seen = [next(ask_all(who, [Ask(0, shown(halves(side)), seed=9)], max_tokens=12)).text for side in (0, 1)]
    assert seen[0] != seen[1]


def test_answers_end_at_their_limit_or_at_the_models_positions(folder):
    who = open_vision(folder)
    replies = list(ask_all(who, [Ask(0, shown(halves(0))), Ask(1, shown(halves(1)))], max_tokens=2))
    assert all(reply.tokens == 2 or not reply.clipped for reply in replies) and max(r.tokens for r in replies) <= 2
    # 48 positions: 60 words fill them, and the short prompt beside it is answered all the same.
    both = [Ask(0, shown(halves(0), "no " * 60)), Ask(1, shown(halves(0)))]
    long, short = ask_all(who, both, max_tokens=100)
    assert "fills the 48 positions" in long.error and short.error is None
    assert short.tokens <= 48


def test_a_visual_benchmark_runs_with_it(folder, rad_folder):  # noqa: F811
    rows = measured(load_benchmark("vqa_rad_closed", Source(path=rad_folder)), open_vision(folder), max_tokens=4)
    assert all(row.status in ("answered", "unparsed", "truncated", "degenerate") for row in rows.values())
    assert all(row.detail["images"] is True and row.tokens for row in rows.values())


def test_what_is_no_vision_model_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="cannot be loaded as a model that reads images"):
        open_vision(tmp_path)


@pytest.mark.skipif("HEALTHGYM_DATA" not in os.environ, reason="HEALTHGYM_DATA does not name the data packs")
def test_real_films_go_through_the_whole_path(folder, tmp_path):
    import json

    from PIL import Image

    films = np.load(Path(os.environ["HEALTHGYM_DATA"]) / "images" / "pneumoniamnist_test.npz")
    records = []
    for place in range(12):
        Image.fromarray(films["test_images"][place]).save(tmp_path / f"film{place}.png")
        records.append({
            "qid": place, "img_name": f"film{place}.png", "question": "Is there pneumonia ?", "q_lang": "en",
            "answer": "Yes" if films["test_labels"][place, 0] else "No", "answer_type": "CLOSED",
        })  # fmt: skip
    (tmp_path / "test.json").write_text(json.dumps(records), encoding="utf-8")
    rows = measured(load_benchmark("slake_closed", Source(path=tmp_path)), open_vision(folder), max_tokens=4)
    assert len(rows) == 12 and not any(row.error for row in rows.values())
