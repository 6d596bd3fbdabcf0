"""Files that are written whole or not at all, and for all who may read them."""

import os
import stat

import pytest

from attnlab.downloads import written_whole


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_a_file_may_be_read_by_those_whom_the_umask_lets(tmp_path, umask):
    before = os.umask(umask)
    try:
        with written_whole(tmp_path / "weights") as file:
            file.write(b"numbers")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "weights").stat().st_mode) == 0o666 & ~umask


def test_a_block_that_ends_badly_leaves_the_older_file_and_nothing_beside_it(tmp_path):
    def broken():
        with written_whole(tmp_path / "weights") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with written_whole(tmp_path / "weights") as file:
        file.write(b"numbers")
    with pytest.raises(KeyboardInterrupt):
        broken()
    assert [path.name for path in tmp_path.iterdir()] == ["weights"]
    assert (tmp_path / "weights").read_bytes() == b"numbers"


def test_two_writers_do_not_meet(tmp_path):
    with written_whole(tmp_path / "weights") as one, written_whole(tmp_path / "weights") as other:
        one.write(b"one")
        other.write(b"other")
    assert (tmp_path / "weights").read_bytes() == b"one"
    with pytest.raises(OSError, match="weights"), written_whole(tmp_path / "no" / "weights"):
        pass
