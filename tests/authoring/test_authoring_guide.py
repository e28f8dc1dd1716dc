import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "authoring.md"


def test_every_python_block_of_the_guide_runs_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 8
    names: dict[str, object] = {"__name__": "guide"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{GUIDE.name}, block {number + 1}", "exec"), names)
