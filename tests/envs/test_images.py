"""Pictures reach vision models as pixels and everyone else as words."""

import base64
import json
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest

from healthgym.envs import ClinicalEnv, Episode
from healthgym.envs.prompts import text_of
from healthgym.errors import ContentError
from healthgym.registry import load_domain
from healthgym.rollout.markup import render_call
from healthgym.tasks import Case, load_suite
from healthgym.toolkit import Picture, Shown, tool
from healthgym.toolkit.pictures import png

PIXELS = np.arange(12, dtype=np.uint8).reshape(3, 4)
SHOW = render_call("view_image", {"image_id": "film-1"})


def decoded(data):
    """Return the pixels of an unfiltered grey PNG."""
    width, height = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT")
    size = struct.unpack(">I", data[start - 4 : start])[0]
    rows = np.frombuffer(zlib.decompress(data[start + 4 : start + 4 + size]), np.uint8).reshape(height, width + 1)
    return rows[:, 1:]


@pytest.fixture
def film(fever):
    """Return the fever domain with a film to look at, and a case that shows it in its prompt."""
    domain = load_domain(fever)

    class Viewer(domain.toolkit):
        domain = "fever"

        def picture(self, image_id):
            return Picture(image_id, PIXELS, "chest film, 4 x 3 px")

        @tool()
        def view_image(self, image_id: str) -> Shown:
            """Look at an image.

            Args:
                image_id: For example film-1.
            """
            return Shown("Frontal view.", (self.picture(image_id),))

    case = next(load_suite(fever).cases(split="train"))
    return replace(domain, toolkit=Viewer), Case(replace(case.task, image_ids=("film-0",)), case.charts)


def test_a_vision_model_gets_the_pixels_a_tool_shows(film):
    episode = Episode(film[1], film[0], images=True)
    (answer,) = episode.apply(SHOW)
    image, text = answer["content"]
    data = base64.b64decode(image["url"].removeprefix("data:image/png;base64,"))
    np.testing.assert_array_equal(decoded(data), PIXELS)
    assert text == {"type": "text", "text": "Frontal view.\n[image film-1: chest film, 4 x 3 px]"}
    assert json.loads(json.dumps(episode.messages)) == episode.messages


def test_a_text_model_gets_the_caption(film):
    (answer,) = Episode(film[1], film[0]).apply(SHOW)
    assert answer["content"] == "Frontal view.\n[image film-1: chest film, 4 x 3 px]"


def test_the_prompt_shows_the_tasks_own_images(film):
    blocks = Episode(film[1], film[0], images=True).messages[-1]["content"]
    assert [block["type"] for block in blocks] == ["image", "text"]
    assert text_of(blocks) == Episode(film[1], film[0]).messages[-1]["content"]
    assert text_of(blocks).endswith("[image film-0: chest film, 4 x 3 px]")


def test_an_episode_with_images_is_graded_like_one_without(film):
    for images in (False, True):
        episode = Episode(film[1], film[0], images=images)
        for call in (SHOW, *(render_call(call.tool, call.arguments) for call in film[1].task.solution)):
            episode.apply(call)
        assert episode.grade().success


def test_the_environment_gives_blocks_that_its_space_holds(film, fever):
    env = ClinicalEnv(fever, images=True)
    env.domain = film[0]
    env.reset(seed=0)
    observation, *_ = env.step(SHOW + render_call("weigh_patient", {"patient_id": "P1"}))
    assert [block["type"] for block in observation] == ["image", "text", "text"]
    assert observation in env.observation_space
    assert "Frontal view." in env.render() and "base64" not in env.render()


def test_a_task_whose_domain_has_no_pictures_is_refused(film, fever):
    with pytest.raises(ContentError, match=r"picture\('film-0'\)"):
        Episode(film[1], load_domain(fever))


def test_pixels_of_another_kind_are_refused():
    with pytest.raises(ContentError, match="float64"):
        Picture("film-1", PIXELS / 255, "")


def test_colour_is_written_as_colour():
    data = png(np.zeros((2, 2, 3), np.uint8))
    assert data[24:26] == bytes([8, 2])  # eight bits, red green blue
