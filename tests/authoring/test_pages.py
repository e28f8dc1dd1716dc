from pathlib import Path

import pytest

from healthgym.authoring import new_domain
from healthgym.authoring.chart_page import write_chart_page
from healthgym.authoring.domain_page import domain_page, write_domain_pages
from healthgym.authoring.screenshot import screenshot
from healthgym.errors import ContentError
from healthgym.registry import domain_names, load_domain

DOCS = Path(__file__).parents[2] / "docs" / "domains"


@pytest.mark.parametrize("name", domain_names())
def test_the_page_of_each_domain_is_in_step_with_it(name: str):
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert page == domain_page(load_domain(name)), "write it anew: healthgym domains --docs docs/domains"


@pytest.mark.parametrize("name", domain_names())
def test_the_drawing_of_each_domain_is_in_step_with_it_and_small(name: str):
    drawing = (DOCS / f"{name}.svg").read_text(encoding="utf-8")
    assert drawing == screenshot(load_domain(name)), "write it anew: healthgym domains --docs docs/domains"
    assert len(drawing.encode()) < 60_000
    assert "http" not in drawing.replace("http://www.w3.org/2000/svg", ""), "a drawing fetches nothing"


def test_no_page_is_left_of_a_domain_that_is_gone():
    assert sorted(path.stem for path in DOCS.glob("*.md")) == domain_names()
    assert sorted(path.stem for path in DOCS.glob("*.svg")) == domain_names()


def test_a_domain_that_is_not_frozen_has_no_page(tmp_path: Path):
    new_domain(tmp_path / "wound_care")
    with pytest.raises(ContentError, match="healthgym tasks freeze"):
        write_domain_pages([str(tmp_path / "wound_care")], tmp_path / "docs")


def test_a_page_of_charts_shows_hidden_truth_and_is_the_same_for_a_seed(tmp_path: Path):
    domain = load_domain("triage_emergency")
    first = write_chart_page(domain, tmp_path / "a.html", sample=3, seed=1).read_text(encoding="utf-8")
    assert first == write_chart_page(domain, tmp_path / "b.html", sample=3, seed=1).read_text(encoding="utf-8")
    assert first != write_chart_page(domain, tmp_path / "c.html", sample=3, seed=2).read_text(encoding="utf-8")
    assert first.count("<article>") == 3
    assert 'class="truth"' in first and "tells when asked" in first
