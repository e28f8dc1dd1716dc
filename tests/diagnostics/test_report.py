"""One self-contained page, whatever state the run's folder is in."""

import json
import re
from html.parser import HTMLParser

import pytest
from synthetic_runs import ramp, rows
from test_step_metrics import an_episode

from healthgym.diagnostics import Run, append_evaluation, save_versions, write_report
from healthgym.diagnostics.charts import short, smooth, ticks
from healthgym.diagnostics.run import RunFolderError
from healthgym.rollout import Trajectory
from healthgym.rollout.traces import TraceWriter

VOID = {"meta", "line", "path", "circle", "rect", "br"}


class _Balance(HTMLParser):
    """Fails on tags that are closed in another order than they were opened."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.text = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(path):
    page = path.read_text(encoding="utf-8")
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []
    return page, " ".join(" ".join(parser.text).split())


def write_traces(folder, name, group):
    (folder / "traces").mkdir(exist_ok=True)
    lines = [json.dumps(episode.to_record(), default=str) for episode in group]
    (folder / "traces" / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture
def full_run(write_run):
    folder = write_run(rows())
    group = [
        an_episode(reward=0.97, text="Vitals first.", calls=("ecg", "submit")),
        an_episode(reward=0.0, success=False, text="<script>alert(1)</script>", hazard=True),
    ]
    write_traces(folder, "step-000010", group)
    write_traces(folder, "step-000060", group)
    append_evaluation(
        folder,
        "warm start",
        {"success": 0.31, "ci": [0.26, 0.37], "n": 256, "mean_tokens": 91.2, "counts": {"truncated": 3}},
    )
    append_evaluation(folder, "after training", {"success": 0.84, "ci": [0.79, 0.88], "n": 256})
    save_versions(folder)
    return folder


def test_the_page_holds_verdict_figures_curves_evaluations_episodes_and_config(full_run):
    path = write_report(full_run)
    assert path == full_run / "report.html"
    page, text = read(path)
    for words in (
        "Healthy", "Held-out evaluations", "31.0 %", "79.0 to 88.0", "3 truncated", "2,400 hints fired",
        "12 teacher updates", "Success", "Tools by name", "check allergies", "Divergence by turn", "Teacher distance",
        "Gradient norms", "Episodes side by side", "Vitals first.", "overdose (critical)", "ema_decay", "healthgym 0",
    ):  # fmt: skip
        assert words in text, words
    assert page.count("<svg") >= 20


def test_the_page_needs_no_network_and_runs_no_script(full_run):
    page, _ = read(write_report(full_run))
    assert not re.search(r"https?://|<script|<link|@import|url\(", page)
    assert "&lt;script&gt;alert(1)" in page  # what an agent wrote is shown, never run


def test_a_collapsed_run_says_so_at_the_top_and_marks_the_step(write_run):
    folder = write_run(rows(0, **{"episode/tool_calls": ramp(3.0, 0.02), "episode/turns": ramp(4.0, 1.1)}))
    page, text = read(write_report(folder))
    assert text.index("Collapsed") < text.index("Tool calls fell from")
    assert 'class="mark"' in page


def test_a_mechanism_that_never_ran_stands_out(write_run):
    page, _ = read(write_report(write_run([{**row, "tt_opd/hints_fired": 0.0} for row in rows()])))
    assert 'class="chip silent"><b>0</b> hints fired' in page


def test_the_report_can_be_written_elsewhere(full_run, tmp_path):
    target = tmp_path / "new" / "page.html"
    assert write_report(full_run, target) == target and target.is_file()


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("missing", "does not exist; give the folder that training printed"),
        ("file", "is a file"),
        ("empty", "holds no run"),
        ("only a cut line", "holds no run"),
    ],
)
def test_a_folder_without_a_run_is_refused_with_the_remedy(tmp_path, state, words):
    folder = tmp_path / "run"
    if state == "file":
        folder.write_text("")
    elif state != "missing":
        folder.mkdir()
    if state == "only a cut line":
        (folder / "metrics.jsonl").write_text('{"step": 1, "rew')
    with pytest.raises(RunFolderError, match=words):
        write_report(folder)


def test_a_half_written_run_gets_a_page_that_says_what_is_missing(tmp_path):
    made = rows(steps=3)
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made) + '{"step": 4, "ep')
    (tmp_path / "config.yaml").write_text("a: [1, 2")
    (tmp_path / "versions.json").write_text("{")
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "step-000003.jsonl").write_text('{"task_id": "t", "messages": [')
    _, text = read(write_report(tmp_path))
    for words in ("3 steps were logged", "metrics.jsonl: 1 line(s)", "config.yaml is not valid YAML", "versions.json could not be read", "holds no finished episode"):  # fmt: skip
        assert words in text, words


def test_one_step_is_enough_for_a_page(write_run):
    _, text = read(write_report(write_run([{"step": 1, "episode/success": 0.0, "loss": float("nan")}])))
    assert "1 steps were logged" in text and "loss is not a finite number" in text


def test_traces_alone_make_a_page(tmp_path):
    write_traces(tmp_path, "validation", [an_episode()])
    _, text = read(write_report(tmp_path))
    assert "The only attempt at this task." in text and "metrics.jsonl is missing" in text


def test_a_trace_record_read_back_is_the_trajectory_that_was_written():
    episode = an_episode(hazard=True)
    record = json.loads(json.dumps(episode.to_record()))
    assert Trajectory.from_record({**record, "messages": tuple(record["messages"]), "tools": ()}) == episode


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (0.0312, "0.031"), (1.0, "1"), (1.25, "1.25"), (84.04, "84"), (1234, "1,234"), (45678, "46k"), (0.0004, "4e-04")])  # fmt: skip
def test_numbers_are_short(value, text):
    assert short(value) == text


def test_axes_have_round_ticks():
    assert ticks(0, 1) == [0, 0.25, 0.5, 0.75, 1.0]
    assert ticks(0, 200) == [0, 50, 100, 150, 200]


def test_smoothing_keeps_a_constant_and_the_length():
    assert smooth([2.0] * 50) == [2.0] * 50
    assert smooth([5.0]) == [5.0]


def test_an_evaluation_that_a_resumed_run_repeats_stands_once(tmp_path):
    for label, success in (("after step 10", 0.1), ("after step 20", 0.2), ("after step 10", 0.3)):
        append_evaluation(tmp_path, label, {"success": success, "ci": [0, 1], "n": 4})
    rows = Run.load(tmp_path).evaluations
    assert [(row["label"], row["success"]) for row in rows] == [("after step 10", 0.3), ("after step 20", 0.2)]


def test_an_episode_whose_text_holds_unicode_line_ends_is_shown_whole(write_run):
    folder = write_run(rows())
    text = "Vitals first.\u2028Then the\u0085ECG.\u2029Done."
    writer = TraceWriter(folder / "traces" / "step-000010.jsonl")
    writer.write(an_episode(reward=0.97, text=text, calls=("ecg", "submit")))
    writer.close()
    _, shown = read(write_report(folder))
    assert "Then the ECG. Done." in shown and "line(s) could not be read" not in shown


def test_a_divergence_is_named_in_the_unit_it_is_measured_in(write_run):
    # tt_opd/kl is D(tau): turns are averaged over their tokens, then over turns, so it stays nats a token.
    folder = write_run(rows(**{"tt_opd/kl": ramp(0.1, 0.2)}))
    _, shown = read(write_report(folder))
    assert "Nats a token between student and teacher" in shown and "Nats a turn" not in shown


def test_a_line_cut_by_a_kill_does_not_take_the_next_evaluation_with_it(tmp_path):
    (tmp_path / "evaluations.jsonl").write_text('{"label": "after st')
    append_evaluation(tmp_path, "after step 10", {"success": 0.1, "ci": [0, 1], "n": 4})
    assert [row["label"] for row in Run.load(tmp_path).evaluations] == ["after step 10"]
