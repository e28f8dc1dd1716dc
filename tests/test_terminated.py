"""SIGTERM ends a command like Ctrl-C, once, and its exit code says which of the two it was."""

import contextlib
import signal
import sys
import threading

import pytest

from healthgym.cli import main
from healthgym.terminated import Terminated, exit_code, sigterm_interrupts


def send(number=signal.SIGTERM):
    signal.raise_signal(number)
    for _ in range(2):  # handlers run at the end of a loop's round, not in the middle of a line
        pass


@pytest.fixture(autouse=True)
def interruptible():
    """Ctrl-C as in a terminal: what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_exit_codes_are_128_and_the_signal():
    assert (exit_code(KeyboardInterrupt()), exit_code(Terminated())) == (130, 143)  # SIGINT is 2, SIGTERM 15


def test_what_puts_things_in_order_is_not_disturbed_by_a_second_signal_and_the_handler_is_put_back():
    before, done = signal.getsignal(signal.SIGTERM), []
    with pytest.raises(Terminated), sigterm_interrupts():
        try:
            send()
        finally:
            send()
            done.append("in order")
    assert done == ["in order"] and signal.getsignal(signal.SIGTERM) == before


def test_a_signal_that_was_lost_leaves_a_process_that_the_next_one_ends():
    with pytest.raises(Terminated), sigterm_interrupts():
        for _ in range(2):
            with contextlib.suppress(BaseException):
                send()
        send()


def test_an_exit_that_a_library_makes_of_it_does_not_hide_it():
    with pytest.raises(Terminated), sigterm_interrupts():
        try:
            send()
        except KeyboardInterrupt:
            sys.exit(1)
    with pytest.raises(SystemExit), sigterm_interrupts():
        sys.exit(1)


def test_outside_the_main_thread_nothing_changes():
    found = []

    def elsewhere():
        with sigterm_interrupts():
            found.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [before]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_any_command_ends_with_the_signal_s_exit_code(monkeypatch, number, code):
    monkeypatch.setattr(sys, "argv", ["healthgym", "domains"])
    monkeypatch.setattr(main.catalog, "load_suite", lambda: send(number))
    with pytest.raises(SystemExit) as stopped:
        main.main()
    assert stopped.value.code == code
