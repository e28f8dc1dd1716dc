"""The page that follows a run, asked for as a browser would."""

import json
from threading import Thread
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from synthetic_runs import rows

from healthgym.diagnostics.live import live_server
from healthgym.errors import ConfigError


@pytest.fixture
def served(tmp_path):
    """Return (run folder, a function that fetches a path)."""
    server = live_server(tmp_path)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    yield tmp_path, lambda path: urlopen(f"{address}/{path}", timeout=30).read().decode()
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_page_and_its_version_follow_the_metrics(served):
    folder, fetch = served
    assert "Waiting:" in fetch("") and fetch("version") == "nothing yet"
    made = rows(steps=3)
    with (folder / "metrics.jsonl").open("w") as file:
        file.write(json.dumps(made[0]) + "\n")
    first = fetch("version")
    assert "1 steps were logged" in fetch("") and first != "nothing yet" and first == fetch("version")
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(made[1]) + "\n" + json.dumps(made[2])[:20])
    page = fetch("")
    assert fetch("version") != first and "2 steps were logged" in page
    assert page.count("<main>") == 1 and 'fetch("version")' in page


def test_nothing_else_is_served(served):
    with pytest.raises(HTTPError, match="404"):
        served[1]("metrics.jsonl")


def test_a_taken_port_is_explained(tmp_path):
    with live_server(tmp_path) as first, pytest.raises(ConfigError, match="give another one with --port"):
        live_server(tmp_path, first.server_address[1])
