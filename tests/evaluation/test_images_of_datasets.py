"""Images of any usual kind become bounded eight-bit pictures; what is no image says so."""

import io

import numpy as np
import pytest
from PIL import Image

from healthgym.errors import ContentError
from healthgym.evaluation.images import read_picture


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def test_sixteen_bits_are_stretched_from_least_to_greatest():
    # 1000, 2000, 3000 -> 0, 127.5 (rounds to 128), 255.
    picture = read_picture(encoded(Image.fromarray(np.array([[1000, 2000, 3000]], np.uint16))), "x.png")
    assert picture.pixels.tolist() == [[0, 128, 255]]


def test_floating_point_and_flat_images_do_not_divide_by_nothing():
    picture = read_picture(encoded(Image.fromarray(np.array([[0.5, np.nan, 1.5]], np.float32)), "TIFF"), "x.tif")
    assert picture.pixels.tolist() == [[0, 0, 255]]
    assert read_picture(encoded(Image.fromarray(np.full((2, 2), 7, np.uint16))), "x").pixels.max() == 0


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("L", 9, (2, 3)),
        ("1", 1, (2, 3)),
        ("RGB", (1, 2, 3), (2, 3, 3)),
        ("RGBA", (200, 100, 50, 0), (2, 3, 3)),
        ("LA", (200, 0), (2, 3, 3)),
        ("P", 0, (2, 3, 3)),
    ],
)
def test_every_mode_becomes_grey_or_colour(mode, colour, expected):
    assert read_picture(encoded(Image.new(mode, (3, 2), colour)), "x.png").pixels.shape == expected


def test_transparency_lies_over_black():
    assert read_picture(encoded(Image.new("RGBA", (1, 1), (200, 100, 50, 0))), "x.png").pixels.tolist() == [[[0, 0, 0]]]


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_large_images_are_scaled_down_and_small_ones_are_not_scaled_up(kind):
    assert read_picture(encoded(Image.new("L", (3000, 1500)), kind), "x", max_side=300).pixels.shape == (150, 300)
    assert read_picture(encoded(Image.new("L", (30, 15)), kind), "x", max_side=300).pixels.shape == (15, 30)


def test_the_block_is_a_data_url():
    block = read_picture(encoded(Image.new("L", (4, 4))), "x.png").block
    assert block["type"] == "image" and block["url"].startswith("data:image/png;base64,")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"not an image", "damaged or of an unknown format"),
        (b"\0" * 128 + b"DICM" + b"\0" * 50, "DICOM"),
        (encoded(Image.new("RGB", (50, 50)))[:60], "damaged"),
        (encoded(Image.effect_noise((64, 64), 50), "JPEG")[:400], "damaged"),
    ],
)
def test_what_is_no_image_says_so(data, message):
    with pytest.raises(ContentError, match=message):
        read_picture(data, "x.png")


def test_an_image_beyond_the_bound_is_refused_before_it_is_decoded(monkeypatch):
    monkeypatch.setattr("healthgym.evaluation.images.MAX_PIXELS", 100)
    with pytest.raises(ContentError, match="20 x 10 pixels"):
        read_picture(encoded(Image.new("L", (20, 10))), "x.png")
