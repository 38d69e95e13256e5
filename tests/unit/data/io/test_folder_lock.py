"""The lock of a folder: who has it, that it is waited for, and that a killed process leaves none."""

import os
import subprocess
import sys
import threading

import pytest

from recassay.data.io import folder_lock
from recassay.data.io.folder_lock import NAME, locked

from ....refusals import refused

HOLD = """
import sys, time
from recassay.data.io.folder_lock import locked
with locked(sys.argv[1]):
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "locked\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_second_process_learns_who_holds_the_lock_and_a_killed_one_holds_none(tmp_path, holder):
    with refused("U237", match=rf"process {holder.pid} on .*, since 2"), locked(tmp_path):
        pass
    holder.kill()
    holder.wait()
    assert (tmp_path / NAME).exists()  # left behind, and no lock
    with locked(tmp_path):
        assert str(os.getpid()) in (tmp_path / NAME).read_text()
    assert not (tmp_path / NAME).exists()


def test_a_thread_waits_and_says_so_once(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_lock, "POLL", 0.01)
    messages, entered = [], threading.Event()

    def second():
        with locked(tmp_path, wait=True, tell=messages.append):
            entered.set()

    with locked(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        assert not entered.wait(0.1)
    thread.join(5)
    assert entered.is_set()
    assert len(messages) == 1
    assert "this process itself" in messages[0]


def test_a_damaged_lock_file_is_no_obstacle(tmp_path):
    (tmp_path / NAME).write_bytes(b"\xff{")
    with locked(tmp_path):
        pass
