import pytest

from healthgym.cli import task_page


@pytest.fixture
def opened(monkeypatch):
    seen = []
    monkeypatch.setattr(task_page.webbrowser, "open", lambda url: seen.append(url) or True)
    return seen


TASK = "visual_diagnosis/heart_size/train/0000"


def test_out_writes_the_page_of_a_task_and_opens_nothing(run, tmp_path, opened):
    page = tmp_path / "page.html"
    ran = run("tasks", "show", TASK, "--domain", "visual_diagnosis", "--open", "--out", page, "--json")
    html = page.read_text()
    assert ran.json == {"task_id": TASK, "page": str(page), "opened": False} and opened == []
    assert "data:image/png;base64," in html and "Truth of film-0" in html and "cardiothoracic" in html


def test_open_alone_opens_the_page(run, opened):
    assert run("tasks", "show", TASK, "--domain", "visual_diagnosis", "--open").code == 0
    assert len(opened) == 1 and opened[0].startswith("file:///") and opened[0].endswith(".html")


def test_the_page_can_leave_out_the_answer(run, tmp_path, opened):
    page = tmp_path / "page.html"
    run("tasks", "show", TASK, "--domain", "visual_diagnosis", "--no-solution", "--out", page)
    assert "Truth" not in page.read_text() and "Gold" not in page.read_text()


def test_a_task_without_images_is_refused(run, fever, tmp_path):
    ran = run("tasks", "show", "fever/fever_dose/test/0000", "--domain", fever, "--out", tmp_path / "page.html")
    assert ran.code == 2 and "no image" in ran.err


def test_a_gallery_has_a_page_for_every_kind_of_image(run, tmp_path):
    ran = run(
        "tasks", "gallery", "--domain", "visual_diagnosis", "--split", "val", "--limit", 2, "--out", tmp_path, "--json"
    )  # fmt: skip
    kinds = {"chest_film", "skin_lesion", "fundus", "blood_film", "ecg_strip", "histology"}
    assert {page.stem for page in tmp_path.iterdir()} == kinds and len(ran.json["pages"]) == 6
