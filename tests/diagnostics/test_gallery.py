import base64
import re

import numpy as np

from healthgym.diagnostics.gallery import Panel, gallery_html, write_gallery
from healthgym.toolkit import Picture
from healthgym.toolkit.pictures import png


def test_a_gallery_holds_its_pictures_and_escapes_its_words(tmp_path):
    picture = Picture("a", np.arange(64, dtype=np.uint8).reshape(8, 8), 'film "one" <8 px>')
    page = write_gallery(
        tmp_path / "deep" / "page.html", "A & B", [Panel(heading="<h>", pictures=[picture], facts={"x": 1})]
    )
    html = page.read_text()
    (data,) = re.findall(r"base64,([^\"]+)", html)
    assert base64.b64decode(data) == png(picture.pixels)
    assert "A &amp; B" in html and "&lt;h&gt;" in html and "&lt;8 px&gt;" in html and "<h>" not in html


def test_a_gallery_loads_nothing_from_elsewhere():
    html = gallery_html("t", [Panel(heading="h", text="see http://example.org")])
    assert not re.search(r'(?:src|href)="http', html)
