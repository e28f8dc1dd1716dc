"""Evaluates the sums in a process of its own, which may kill itself or wait before an answer.

Usage: run_sums.py OUT COUNT ACT AT, where ACT is kill, tear, wait or none and AT counts answers.
"""

import os
import signal
import sys
import time

from asked import Sums, adder

from healthgym.evaluation import rows
from healthgym.evaluation.benchmark import Settings
from healthgym.evaluation.runner import evaluate


def main(out: str, count: str, act: str, at: str) -> None:
    write = os.write

    def torn(file: int, data: memoryview) -> int:
        write(file, bytes(data[:20]))
        os.kill(os.getpid(), signal.SIGKILL)
        return 20

    def before(answers: int) -> None:
        if answers != int(at):
            return
        if act == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif act == "tear":
            rows.os.write = torn  # type: ignore[assignment]
        elif act == "wait":
            print("waiting", flush=True)
            time.sleep(60)

    evaluate(Sums(int(count)), adder(before=before), Settings(mode="text", in_flight=3), out)


main(*sys.argv[1:])
