"""The harness itself, on a widget of a dozen lines: what it says about a page can be relied on."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from .driver import Lab

WIDGET = '''
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = """
    export default { render({ model, el }) {
      const button = document.createElement("button");
      button.className = "probe";
      const draw = () => { button.textContent = "count " + model.get("count"); };
      model.on("change:count", draw);
      button.onclick = () => model.send({ add: 1 });
      draw();
      el.append(button);
    } }
    """
    count = traitlets.Int(0).tag(sync=True)

    def __init__(self):
        super().__init__()
        self.on_msg(lambda _w, content, _b: setattr(self, "count", self.count + content["add"]))

counter = Counter()
counter
'''


def test_a_click_in_the_browser_reaches_the_kernel_and_comes_back(lab: Lab) -> None:
    """A widget renders, its message changes kernel state, the change is drawn, and a later cell sees it."""
    notebook = lab.new("roundtrip.ipynb", WIDGET, "counter.count")
    notebook.run(0)
    button = notebook.cell(0).locator("button.probe")
    expect(button).to_have_text("count 0")
    button.click()
    expect(button).to_have_text("count 1")
    assert notebook.run(1) == "1"
    assert notebook.kernel("counter.count") == 1
    assert lab.complaints == []


def test_a_cell_is_seen_waiting_interrupted_and_done(lab: Lab) -> None:
    """Sent is not done; an interrupt ends a cell, and the kernel goes on."""
    notebook = lab.new("waiting.ipynb", "import asyncio\nwhile True:\n    await asyncio.sleep(0.05)", "6 * 7")
    notebook.send(0)
    assert not notebook.is_done(0)
    notebook.interrupt()
    notebook.wait_done(0)
    notebook.wait_output(0, "CancelledError")
    assert notebook.run(1) == "42"


def test_a_restart_forgets_and_a_reload_does_not(lab: Lab) -> None:
    """The kernel survives a reload of the page with what was saved; after a restart its names are gone."""
    notebook = lab.new("reload.ipynb", "kept = 'still here'")
    notebook.run(0)
    added = notebook.append("kept")
    assert added == 1
    notebook.save()
    assert ["".join(cell["source"]) for cell in json.loads(notebook.file.read_text())["cells"]] == ["kept = 'still here'", "kept"]
    lab.reload()
    assert notebook.sources() == ["code:kept = 'still here'", "code:kept"]
    assert notebook.run(1) == "'still here'"
    notebook.restart()
    assert "NameError" in notebook.run(1)


def test_themes_change_and_axe_sees_a_fault(lab: Lab) -> None:
    """The theme is really another one, and axe complains about a button without a name and about nothing when it has one."""
    notebook = lab.new("faults.ipynb", "from IPython.display import HTML\nHTML('<div id=\"probe\"><button></button></div>')")
    notebook.run(0)
    lab.theme("dark")
    dark = notebook.cell(0).evaluate("cell => getComputedStyle(cell).getPropertyValue('--jp-layout-color1')")
    lab.theme("light")
    light = notebook.cell(0).evaluate("cell => getComputedStyle(cell).getPropertyValue('--jp-layout-color1')")
    assert dark != light
    assert "button-name" in {violation["id"] for violation in lab.axe("#probe")}
    lab.page.locator("#probe button").evaluate(
        "button => { button.textContent = 'named'; button.style = 'min-width:40px;min-height:40px'; }"
    )
    assert lab.axe("#probe") == []
