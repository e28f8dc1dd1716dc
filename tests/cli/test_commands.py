import json

import pytest

from healthgym.cli.progress import progress_line

SPLITS = ("train", "val", "test", "test_ood")


@pytest.mark.parametrize(
    "command",
    [
        ["domains"], ["tools"], ["tasks"], ["tasks", "show"], ["tasks", "gallery"], ["play"], ["validate"], ["train"], ["report"],
        ["new", "domain"], ["new", "tool"], ["new", "task"], ["kb", "build"], ["kb", "info"], ["kb", "search"],
        ["kb", "add"], ["kb", "verify"], ["kb", "audit"], ["kb", "encoder"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_command_has_help_and_json(run, command):
    ran = run(*command, "--help")
    assert ran.code == 0 and "--json" in ran.out and len(ran.out) > 200


def test_domains_lists_names_tools_and_tasks_by_split(run):
    rows = run("domains", "--json").json
    assert {"triage_emergency", "drug_interaction"} <= {row["name"] for row in rows}
    assert all(row["tools"] > 0 and set(row["tasks"]) == set(SPLITS) and row["title"] for row in rows)


def test_tools_of_a_domain_come_with_their_schema(run, fever):
    rows = run("tools", "--domain", fever, "--json").json
    assert [row["name"] for row in rows] == ["ask_patient", "give_paracetamol", "submit_dose", "weigh_patient"]
    assert {"name", "domain", "effect", "parameters"} <= set(rows[0])
    assert rows[2]["effect"] == "submit" and list(rows[2]["parameters"]["properties"]) == ["dose_mg"]


def test_tasks_are_counted_and_filtered(run, fever):
    listed = run("tasks", "--domain", fever, "--split", "test", "--limit", 2, "--json").json
    assert (listed["total"], listed["by_domain"]) == (12, {"fever": 60})
    assert [item["id"] for item in listed["items"]] == ["fever/fever_dose/test/0000", "fever/fever_dose/test/0001"]
    assert len(listed["digest"]) == 64


def test_a_task_can_be_shown_without_its_answer(run, fever):
    arguments = ("tasks", "show", "fever/fever_dose/test/0000", "--domain", fever, "--json")
    whole, hidden = run(*arguments).json, run(*arguments, "--no-solution").json
    assert whole["solution"] and whole["criteria"]
    assert "solution" not in hidden and "criteria" not in hidden and hidden["prompt"] == whole["prompt"]


def test_errors_are_one_line_exit_code_2_and_json_when_asked(run):
    ran = run("tools", "--domain", "triage_emergancy")
    assert (ran.code, ran.out) == (2, "") and "Did you mean 'triage_emergency'?" in ran.err
    assert "Traceback" not in ran.err and ran.err.count("\n") == 1
    asked = run("tools", "--domain", "triage_emergancy", "--json")
    assert asked.code == 2 and "Did you mean 'triage_emergency'?" in asked.json["error"]


def test_validate_proves_a_sound_domain(run, fever):
    ran = run("validate", fever, "--sample", 20, "--json")
    proof = ran.json["domains"]["fever"]
    assert (ran.code, ran.json["ok"]) == (0, True)
    assert (proof["oracle_min"], proof["tools"], proof["failures"]) == (1.0, 4, [])
    assert all(set(row) == {"success", "reward"} for row in proof["attackers"].values())


def test_validate_exits_with_1_when_a_task_cannot_be_solved(run, tmp_path):
    run("new", "domain", tmp_path / "broken")
    tasks = tmp_path / "broken" / "tasks.py"
    tasks.write_text(tasks.read_text().replace('Call("submit_dose", dose_mg=dose)', 'Call("submit_dose", dose_mg=1.0)'))
    ran = run("validate", tmp_path / "broken", "--sample", 20, "--json")
    assert (ran.code, ran.json["ok"]) == (1, False) and ran.json["domains"]["broken"]["failures"]
    assert "failed" in run("validate", tmp_path / "broken", "--sample", 20).out


def test_new_writes_files_and_says_what_to_do_next(run, tmp_path):
    made = run("new", "domain", tmp_path / "wound_care", "--json").json
    assert len(made["written"]) == 6 and made["next"].startswith("healthgym validate ")
    assert run("new", "tool", "read_age", "--domain", tmp_path / "wound_care").code == 0
    assert run("new", "domain", tmp_path / "Wound").code == 2


def test_an_index_is_built_described_and_searched(run, tmp_path):
    for name in ("sepsis", "fever"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"# {name.title()}\n\nAll about {name}.\n")
    index = tmp_path / "index"
    built = run(
        "kb",
        "build",
        "--corpus",
        tmp_path / "sepsis",
        tmp_path / "fever",
        "--out",
        index,
        "--encoder",
        "hashing",
        "--json",
    )
    assert (built.code, built.json["passages"], built.json["encoder"]) == (0, 2, "hashing")
    described = run("kb", "info", index, "--json").json
    assert described["checksum_ok"] and {"passages", "encoder", "index", "bytes"} <= set(described)
    hits = run("kb", "search", "sepsis", "--index", index, "-k", 1, "--json").json
    assert [hit["title"] for hit in hits] == ["Sepsis"] and {"id", "score", "title", "text", "source"} <= set(hits[0])


def test_a_damaged_index_is_reported_with_exit_code_1(run, tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "a.md").write_text("# Fever\n\nGive paracetamol.\n")
    run("kb", "build", "--corpus", tmp_path / "c", "--out", tmp_path / "index", "--encoder", "hashing")
    largest = max(
        (p for p in (tmp_path / "index").rglob("*") if p.is_file() and "manifest" not in p.name),
        key=lambda p: p.stat().st_size,
    )
    largest.write_bytes(b"x" + largest.read_bytes()[1:])
    ran = run("kb", "info", tmp_path / "index", "--json")
    assert ran.code == 1 and not ran.json["checksum_ok"]


def test_a_missing_index_is_an_error_and_no_empty_result(run, tmp_path):
    ran = run("kb", "search", "sepsis", "--index", tmp_path / "none", "--json")
    assert ran.code == 2 and "kb build" in ran.json["error"]


def test_the_built_in_facts_are_searched_without_an_index(run):
    hits = run("kb", "search", "warfarin ibuprofen bleeding", "-k", 3, "--json").json
    assert len(hits) == 3 and any("arfarin" in hit["title"] + hit["text"] for hit in hits)


RECIPE = """
preset: grpo
model: {tiny: {layers: 1, hidden_size: 32}}
env: {domains: [DOMAIN], prompt_profile: bare}
"""


def test_a_dry_run_prints_the_resolved_config_and_the_plan(run, fever, tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text(RECIPE.replace("DOMAIN", str(fever)))
    ran = run("train", recipe, "--set", "optim.steps=7", "--dry-run", "--json")
    assert ran.json["config"]["optim"]["steps"] == 7 and ran.json["config"]["model"]["tiny"]["hidden_size"] == 32
    assert ran.json["plan"]["volume"]["episodes"] == 7 * 8 * 8
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_shows_memory_mechanisms_and_warnings(run, fever, tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text(RECIPE.replace("DOMAIN", str(fever)))
    ran = run("train", recipe, "--dry-run", "--processes", "2", "--device-memory", "0.001")
    assert ran.code == 0
    for part in ("sharded by FSDP2", "optimiser", "does not fit", "Mechanisms", "set teacher", "Warning: The peak of"):
        assert part in ran.out, part
    refused = run("train", recipe, "--dry-run", "--sharding", "zero", "--json")
    assert refused.code == 2 and "expected none or fsdp" in refused.json["error"]


def test_an_unknown_setting_names_the_nearest(run, fever, tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text(RECIPE.replace("DOMAIN", str(fever)))
    ran = run("train", recipe, "--set", "optim.step=7", "--dry-run", "--json")
    assert ran.code == 2 and "Did you mean 'steps'?" in ran.json["error"]


def test_the_progress_line_shows_what_was_logged():
    row = {"step": 3, "reward": 0.25, "episode/success": 0.5, "loss": 0.1}
    assert progress_line(3, 10, row) == "step 3/10  reward 0.25  success 0.5  loss 0.1"


@pytest.mark.parametrize(("tool_calls", "status", "code"), [(4.0, "healthy", 0), (0.0, "collapsed", 3)])
def test_report_writes_a_page_and_tells_collapsed_by_its_exit_code(run, tmp_path, tool_calls, status, code):
    # Tool calls stay at 4 in one run and fall from 4 to 0 halfway in the other, while turns of one message take over.
    with (tmp_path / "metrics.jsonl").open("w") as file:
        for step in range(1, 41):
            calls = 4.0 if step <= 20 else tool_calls
            turns = 5.0 if calls else 1.0
            row = {"step": step, "loss": 0.1, "reward": 0.5, "episode/tool_calls": calls, "episode/turns": turns}
            file.write(json.dumps(row) + "\n")
    ran = run("report", tmp_path, "--out", tmp_path / "page.html", "--json")
    assert (ran.code, ran.json["status"]) == (code, status)
    assert "<html" in (tmp_path / "page.html").read_text()


def _curve(folder, success):
    folder.mkdir()
    rows = [{"step": step, "loss": 0.1, "episode/success": success, "reward": success} for step in range(1, 31)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    outcomes = [[f"t{at}", 0, at < 10 * success] for at in range(10)]
    row = {"label": "end", "success": success, "ci": [0, 1], "n": 10, "outcomes": outcomes}
    (folder / "evaluations.jsonl").write_text(json.dumps(row) + "\n")
    return folder


def test_report_compares_runs_on_one_page(run, tmp_path):
    first, second = _curve(tmp_path / "a", 0.2), _curve(tmp_path / "b", 0.6)
    ran = run("report", "--compare", first, second, "--out", tmp_path / "page.html", "--json")
    assert ran.code == 0 and "<html" in (tmp_path / "page.html").read_text()
    assert [one["name"] for one in ran.json["runs"]] == ["a", "b"]
    assert ran.json["paired"][0]["difference"] == 0.4 and ran.json["final"]["success"][1]["mean"] == 0.6
    assert "b less a: +40.0%" in run("report", "--compare", first, second, "--out", tmp_path / "page.html").out


def test_report_refuses_what_does_not_go_together(run, tmp_path):
    first, second = _curve(tmp_path / "a", 0.2), _curve(tmp_path / "b", 0.6)
    assert "add --compare" in run("report", first, second, "--json").json["error"]
    assert "give one of them" in run("report", first, "--live", "--traces", "--json").json["error"]
    assert "no traces" in run("report", first, "--traces", "--json").json["error"]


def test_the_recipe_of_a_new_domain_dry_runs_with_a_family_of_ones_own_and_with_a_teacher(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("new", "domain", "wound_care").code == 0
    assert run("new", "task", "dressing", "--domain", "wound_care").code == 0
    plain = run("train", "wound_care/recipe.yaml", "--dry-run", "--json")
    assert plain.code == 0, plain.err
    # 40 steps of 6 tasks with 8 attempts each.
    assert plain.json["plan"]["volume"]["episodes"] == 40 * 6 * 8
    for setting in ("env.families=[dressing]", "preset=tt_opd"):
        ran = run("train", "wound_care/recipe.yaml", "--set", setting, "--dry-run", "--json")
        assert ran.code == 0, ran.err
    assert run("train", "wound_care/recipe.yaml", "--set", "env.families=[dresing]", "--dry-run").code == 2
    assert not (tmp_path / "runs").exists()
