"""Files that are whole or not there, however the process ends."""

import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from gbrank.core import atomic_file, files, removed_if_ended, write_atomically

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and signals")


@pytest.fixture(params=["unnamed", "named"])
def way(request, monkeypatch):
    """Write as the system can, and as where it has no files without a name."""
    if request.param == "named":
        monkeypatch.setattr(files, "_open_unnamed", lambda *_: None)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("the system has no files without a name")
    return request.param


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_old_file_stays_until_the_end(way, tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    with atomic_file(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


def test_an_error_leaves_nothing_behind(way, tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    with pytest.raises(TypeError), atomic_file(target) as file:
        file.writelines([b"half", "text"])
    assert (target.read_bytes(), names(tmp_path)) == (b"old", ["a"])


class TestLine13:
    """A temporary file of a private target was world-readable, and SIGTERM left it behind."""

    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o400, 0o666])
    def test_it_is_never_wider_than_the_file_that_it_replaces(self, way, tmp_path, mode):
        target = tmp_path / "a"
        target.write_bytes(b"old")
        target.chmod(mode)
        before = os.umask(0)
        try:
            with atomic_file(target) as file:
                assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == mode
                file.write(b"secret")
        finally:
            os.umask(before)
        assert stat.S_IMODE(target.stat().st_mode) == mode

    def test_a_new_file_has_what_the_umask_leaves(self, way, tmp_path):
        before = os.umask(0o027)
        try:
            write_atomically(tmp_path / "a", b"")
            with atomic_file(tmp_path / "b", mode=0o600):
                pass
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
        assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o600

    @pytest.mark.parametrize("number", ["SIGTERM", "SIGKILL"])
    @pytest.mark.parametrize("unnamed", [True, False])
    def test_a_signal_leaves_no_temporary_file(self, tmp_path, number, unnamed):
        if number == "SIGKILL" and not unnamed:
            pytest.skip("what has a name is left by what cannot be handled")
        if unnamed and not hasattr(os, "O_TMPFILE"):
            pytest.skip("the system has no files without a name")
        (tmp_path / "a").write_bytes(b"old")
        code = f"""
import sys, time
from gbrank.core import atomic_file, files
if not {unnamed}:
    files._open_unnamed = lambda *_: None
with atomic_file({str(tmp_path / "a")!r}) as file:
    file.write(b"x" * 1_000_000)
    file.flush()
    print("written", flush=True)
    time.sleep(600)
"""
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        try:
            assert process.stdout.readline() == b"written\n"
            process.send_signal(getattr(signal, number))
            assert process.wait(timeout=60) == -getattr(signal, number)  # as without us
        finally:
            process.kill()
        assert names(tmp_path) == ["a"]
        assert (tmp_path / "a").read_bytes() == b"old"

    def test_a_handler_of_the_user_is_left_alone(self, tmp_path):
        seen = []
        before = signal.signal(signal.SIGTERM, lambda *_: seen.append("mine"))
        try:
            with removed_if_ended(tmp_path / "a"):
                os.kill(os.getpid(), signal.SIGTERM)
            assert seen == ["mine"]
        finally:
            signal.signal(signal.SIGTERM, before)

    def test_the_handler_is_gone_afterwards(self, tmp_path):
        before = signal.getsignal(signal.SIGTERM)
        with removed_if_ended(tmp_path / "a"):
            pass
        assert signal.getsignal(signal.SIGTERM) is before

    def test_a_thread_writes_as_well(self, way, tmp_path):
        writer = threading.Thread(target=write_atomically, args=(tmp_path / "a", b"abc"))
        writer.start()
        writer.join()
        assert (tmp_path / "a").read_bytes() == b"abc"


class TestLinks:
    def test_a_link_of_the_user_is_followed(self, way, tmp_path):
        (tmp_path / "a").write_bytes(b"old")
        (tmp_path / "link").symlink_to("a")
        write_atomically(tmp_path / "link", b"new")
        assert (tmp_path / "a").read_bytes() == b"new"
        assert (tmp_path / "link").is_symlink()

    def test_a_link_under_a_name_made_here_is_replaced(self, way, tmp_path):
        (tmp_path / "a").write_bytes(b"old")
        (tmp_path / "link").symlink_to("a")
        with atomic_file(tmp_path / "link", follow_links=False, mode=0o600) as file:
            file.write(b"new")
        assert (tmp_path / "a").read_bytes() == b"old"
        assert not (tmp_path / "link").is_symlink()
        assert (tmp_path / "link").read_bytes() == b"new"
        assert stat.S_IMODE((tmp_path / "link").stat().st_mode) == 0o600

    def test_what_cannot_be_replaced_is_named(self, way, tmp_path):
        with pytest.raises(IsADirectoryError, match="is a folder, not a file"):
            write_atomically(tmp_path, b"")
        with pytest.raises(FileNotFoundError, match=r"the folder of .* does not exist"):
            write_atomically(tmp_path / "no" / "a", b"")
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ValueError, match="a device or a pipe"):
            write_atomically(tmp_path / "pipe", b"")


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="no files without a name")
def test_a_new_file_never_has_another_name(tmp_path, monkeypatch):
    """So that not even SIGKILL leaves a temporary file; to replace one takes a second name."""

    def never(*_):
        raise AssertionError("a file was renamed")

    monkeypatch.setattr(files.os, "replace", never)
    write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


def test_a_file_that_appears_while_another_is_written_is_replaced(way, tmp_path):
    with atomic_file(tmp_path / "a") as file:
        file.write(b"new")
        (tmp_path / "a").write_bytes(b"of somebody else")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


def test_only_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe is a device or a pipe: only a file can be read"):
        files.check_file(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError):
        files.check_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        files.check_file(tmp_path / "nothing")
