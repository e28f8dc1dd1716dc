import pytest
from test_report import read, write_traces
from test_step_metrics import an_episode

from healthgym.diagnostics import write_traces as write_page
from healthgym.diagnostics.run import RunFolderError


def test_every_saved_episode_is_on_the_page_latest_step_first(tmp_path):
    for step, text in ((1, "An early answer."), (20, "A late answer.")):
        episodes = [an_episode(reward=reward, text=f"{text} {at}.") for at, reward in enumerate((0.1, 0.9, 0.5, 0.7))]
        write_traces(tmp_path, f"step-{step:06d}", episodes)
    path = write_page(tmp_path)
    _, text = read(path)
    assert path == tmp_path / "traces.html"
    assert all(f"{words} {at}." in text for words in ("An early answer.", "A late answer.") for at in range(4))
    assert text.index("step-000020") < text.index("step-000001")
    assert text.index("A late answer. 1.") < text.index("A late answer. 0.")  # best first


def test_a_run_without_traces_says_how_to_get_some(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 0.1}\n')
    with pytest.raises(RunFolderError, match=r"rollout\.trace_every"):
        write_page(tmp_path)
