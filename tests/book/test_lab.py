"""The readers' edition in a real JupyterLab with a real kernel: what a reader sees, runs and keeps."""

import os
import re
import signal
import subprocess
import sys
import threading

import nbformat
import pytest

from .conftest import PATIENCE, ROOT, chapters

PAGE = chapters.find(chapters.read(ROOT), "relevance").page.rpartition("/")[2]

ANSWERED = """([cell, before]) => {
  const said = cell.querySelector(".jp-OutputArea-output")?.innerText.trim();
  return said?.startsWith("query") && said !== before; }"""

SAVED = """(address) => fetch(address).then((answer) => answer.json())
  .then(({ content }) => JSON.stringify(content).includes("attnlab-figure"))"""
LOOKS = """(figure) => {
  const style = getComputedStyle(figure);
  return { padding: style.paddingTop, ink: style.getPropertyValue("--fig-ink") !== "" };
}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Start JupyterLab in a folder with one notebook: the figure and the first exercise of a chapter."""
    folder = tmp_path_factory.mktemp("lab")
    notebook = nbformat.read(ROOT / f"notebooks/{PAGE}.ipynb", as_version=4)
    first = next(cell.metadata["exercise"] for cell in notebook.cells if "exercise" in cell.metadata)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    # Its own measurements take the kernel some seconds and are run elsewhere.
    kept = [*code[:2], *(cell for cell in code if cell.source.endswith("\nfigure"))]
    kept += [cell for cell in code if cell.metadata.get("exercise") == first]
    notebook.cells = [cell for cell in notebook.cells if cell.cell_type == "markdown" or cell in kept]
    notebook.cells.append(nbformat.v4.new_code_cell('print("query", figure.query)', id="asks"))
    nbformat.write(notebook, folder / "page.ipynb")
    # All cells stand in the page, not only those in sight.
    settings = folder / "settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"windowingMode": "none"}')
    own = {"JUPYTER_CONFIG_DIR": str(folder / "config"), "JUPYTER_DATA_DIR": str(folder / "data")}
    own["JUPYTERLAB_SETTINGS_DIR"] = str(folder / "settings")
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--port=0", "--allow-root"]
    command += [f"--notebook-dir={folder}", "--IdentityProvider.token="]
    command += ["--KernelManager.transport=ipc", f"--KernelManager.ip={folder / 'kernel'}"]
    server = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | own,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # What it says after its address must not fill the pipe.
    rest = threading.Thread(target=lambda: [None for _ in server.stderr], daemon=True)
    with server.stderr:
        try:
            address = _address(server)
            rest.start()
            yield f"{address}/lab/tree/page.ipynb", settings
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(30)
            if rest.is_alive():
                rest.join(30)


def _address(server):
    said = []
    for line in server.stderr:
        said.append(line)
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        if found:
            return found[0]
    raise RuntimeError("JupyterLab did not start:\n" + "".join(said[-20:]))


def test_a_reader_opens_runs_and_uses_a_notebook(lab, browser):
    address, settings = lab
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.wait_for_selector(".jp-Notebook h1")
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")

    # What is read: rendered, without markup of the book's own, and nothing of the solution.
    shown = page.locator(".jp-Notebook").inner_text()
    assert not re.search(r":::|\{[\w:-]+\}`|solution-start", shown)
    assert "your code here" in shown
    solution = page.locator("details", has_text="Solution").first
    assert solution.get_attribute("open") is None
    assert not solution.locator("pre").is_visible()
    solution.locator("summary").click()
    assert "def " in solution.locator("pre").first.inner_text()

    # Run all: the figure talks to the kernel, and the exercise is still the reader's to write.
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    figure = page.locator(".attnlab-root").first
    figure.wait_for()
    page.get_by_text("is not written yet").wait_for()
    asked = page.locator(".jp-Notebook .jp-CodeCell").last
    asked.locator(".jp-OutputArea-output").wait_for()
    before = asked.locator(".jp-OutputArea-output").inner_text()
    assert re.fullmatch(r"query \[1\.0, 0\.5\]\s*", before)

    # What the reader moves, the next cell knows by the name that the figure's cell gives it.
    figure.get_by_role("slider", name=re.compile("query", re.IGNORECASE)).first.press("ArrowRight")
    asked.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_function(ANSWERED, arg=[asked.element_handle(), before.strip()])

    # Tomorrow: saved, the kernel alive, Lab's own settings. Lab then draws the figure before it attaches it.
    page.keyboard.press("Control+s")
    page.wait_for_function(SAVED, arg=address.replace("/lab/tree/", "/api/contents/"))
    settings.unlink()
    page.reload()
    figure.wait_for(state="attached")
    for top in (0, 10**6, 0):
        page.evaluate("(top) => (document.querySelector('.jp-WindowedPanel-outer').scrollTop = top)", top)
        assert figure.evaluate(LOOKS) == {"padding": "16px", "ink": True}
    page.close()
