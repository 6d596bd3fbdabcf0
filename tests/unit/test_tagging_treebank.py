"""Finding, fetching and reading the treebank: in order, whole or not at all, and errors that help."""

import hashlib
import http.server
import os
import threading
from collections import Counter
from pathlib import Path

import pytest

from attnbook.tagging import treebank as module
from attnbook.tagging.treebank import (
    TreebankError,
    ambiguity,
    costliest,
    count_tags,
    find_treebank,
    load_treebank,
)

CONTENT = """# text = I don't
1\tI\tI\tPRON\t_\t_\t_\t_\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\t_\t_\t_\t_\t_\t_
3\tn't\tnot\tPART\t_\t_\t_\t_\t_\t_
3.1\tsaw\tsee\tVERB\t_\t_\t_\t_\t_\t_

# text = Yes
1\tYes\tyes\tINTJ\t_\t_\t_\t_\t_\t_

"""
SENTENCES = ((("I", "do", "n't"), ("PRON", "AUX", "PART")), (("Yes",), ("INTJ",)))


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """Keep the reader's own settings and cache out of it, and expect small files."""
    monkeypatch.delenv("ATTNLAB_DATA", raising=False)
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "cache"))
    checksum = hashlib.sha256(CONTENT.encode()).hexdigest()
    monkeypatch.setattr(module, "CHECKSUMS", dict.fromkeys(module.CHECKSUMS, checksum))


@pytest.fixture
def server(monkeypatch):
    """Serve CONTENT on this machine; `answer` changes what comes."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(self.path)
            self.server.answer(self)

        def log_message(self, *_):
            pass

    def whole(handler):
        body = CONTENT.encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.answer, running.asked = whole, []
        threading.Thread(target=running.serve_forever, daemon=True).start()
        monkeypatch.setattr(module, "SOURCE", f"http://127.0.0.1:{running.server_port}")
        yield running
        running.shutdown()


def fill(folder: Path, content=CONTENT):
    folder.mkdir(parents=True, exist_ok=True)
    for name in module.CHECKSUMS:
        (folder / name).write_text(content)
    return folder


def left_in(folder: Path):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_path_comes_first_then_the_variable_then_the_cache(tmp_path, monkeypatch, server):
    fill(tmp_path / "cache")
    assert load_treebank().train == SENTENCES
    assert find_treebank() == tmp_path / "cache"
    monkeypatch.setenv("ATTNLAB_DATA", str(fill(tmp_path / "variable")))
    assert find_treebank() == tmp_path / "variable"
    assert load_treebank().dev == SENTENCES
    assert find_treebank(fill(tmp_path / "path")) == tmp_path / "path"
    assert load_treebank(tmp_path / "path").test == SENTENCES
    assert server.asked == []


def test_ranges_and_empty_nodes_are_left_out(tmp_path):
    assert tuple(module.read(fill(tmp_path / "x") / "en_ewt-ud-dev.conllu")) == SENTENCES


def test_a_download_is_checked_kept_and_not_repeated(tmp_path, server):
    assert find_treebank() is None
    assert repr(load_treebank()) == "<Treebank: train 2, dev 2, test 2 sentences>"
    assert left_in(tmp_path / "cache") == sorted(module.CHECKSUMS)
    load_treebank()
    assert len(server.asked) == 3


def test_an_interrupted_download_leaves_nothing(tmp_path, server):
    def short(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "10000")
        handler.end_headers()
        handler.wfile.write(b"half")

    server.answer = short
    with pytest.raises(TreebankError, match=r"could not be downloaded \(.*Download the three files"):
        load_treebank()
    assert left_in(tmp_path / "cache") == []


def test_a_wrong_file_from_the_network_leaves_nothing(tmp_path, server, monkeypatch):
    monkeypatch.setattr(module, "CHECKSUMS", dict.fromkeys(module.CHECKSUMS, "0" * 64))
    with pytest.raises(
        TreebankError, match=r"is not the pinned release: its SHA-256 is [0-9a-f]{64}, .* 0{64}"
    ):
        load_treebank()
    assert left_in(tmp_path / "cache") == []


def test_an_error_page_is_no_treebank(server):
    server.answer = lambda handler: handler.send_error(404)
    with pytest.raises(TreebankError, match="could not be downloaded"):
        load_treebank()


def test_no_network_says_what_to_do(monkeypatch):
    monkeypatch.setattr(module, "SOURCE", "http://127.0.0.1:9")
    with pytest.raises(TreebankError, match=r"could not be downloaded .*set ATTNLAB_DATA to it"):
        load_treebank()


def test_a_stop_in_the_middle_of_writing_leaves_no_half_file(tmp_path, server, monkeypatch):
    def stop(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        load_treebank()
    assert left_in(tmp_path / "cache") == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path, server, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ATTNLAB_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(TreebankError, match=r"cannot be written .* Set ATTNLAB_CACHE to a folder that can"):
        load_treebank()


def test_a_folder_without_the_files_is_an_error_and_no_download(tmp_path, monkeypatch, server):
    with pytest.raises(TreebankError, match=rf"path is {tmp_path}, which has no en_ewt-ud-train.conllu"):
        load_treebank(tmp_path)
    monkeypatch.setenv("ATTNLAB_DATA", str(tmp_path))
    with pytest.raises(TreebankError, match="ATTNLAB_DATA is "):
        load_treebank()
    assert server.asked == []


def test_a_changed_file_in_a_folder_is_refused(tmp_path):
    folder = fill(tmp_path / "x")
    (folder / "en_ewt-ud-test.conllu").write_text(CONTENT + " ")
    with pytest.raises(TreebankError, match=r"en_ewt-ud-test\.conllu is not the pinned release"):
        load_treebank(folder)


def test_the_users_cache_folder(monkeypatch):
    monkeypatch.delenv("ATTNLAB_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", os.sep + "somewhere")
    assert module.cache_folder() == Path(os.sep + "somewhere", "attnlab", "ewt-2.16")


def test_what_a_word_can_know_in_the_real_treebank(treebank):
    facts = ambiguity(treebank)
    assert (len(treebank.train), len(treebank.dev), len(treebank.test)) == (12544, 2001, 2077)
    assert (facts.train_tokens, facts.test_tokens) == (204577, 25094)
    assert round(100 * float(facts.ambiguous_share), 1) == 62.8
    assert round(100 * float(facts.strong_share), 1) == 19.3
    assert round(100 * float(facts.lookup_on_test), 2) == 94.05
    counts = count_tags(treebank.train, lower=True)
    assert counts["saw"] == Counter(VERB=25, NOUN=1)
    assert counts["work"] == Counter(NOUN=111, VERB=110)
    assert [word for word, _ in costliest(treebank.train, 2)] == ["to", "that"]
    assert {tag for _, tags in treebank.train for tag in tags} == set(module.TAGS)
