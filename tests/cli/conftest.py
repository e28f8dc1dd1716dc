"""Runs commands in this process and reads what they print."""

import json
import sys

import pytest

from healthgym.authoring import new_domain
from healthgym.cli import main


class Ran:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(capsys, monkeypatch):
    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["healthgym", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main.main()
        printed = capsys.readouterr()
        return Ran(stopped.value.code or 0, printed.out, printed.err)

    return command


@pytest.fixture(scope="session")
def fever(tmp_path_factory):
    folder = tmp_path_factory.mktemp("domains") / "fever"
    new_domain(folder)
    return folder
