from __future__ import annotations

from harness.browser import Samples, chromium

CELL = """
from llm4s_notebook import *

@tool
async def step(number: int, context: ToolContext) -> str | NeedsApproval:
    \"\"\"Take a step.\"\"\"
    return str(number) if context.approved else NeedsApproval("each step needs a person")

script = ScriptedClient(*[calls(ToolCall(f"c{{n}}", "step", {{"number": n}})) for n in range({clicks} + 5)], "out")
agent = Agent("assistant", script, tools=[step], max_steps={clicks} + 10{runtime})
session = Session(agent, "t")
ReviewPanel(session)
"""
MEASURE = """async clicks => {
  const found = [];
  const panel = document.querySelector('[data-testid=panel]');
  const here = () => panel.querySelector('[data-card]');
  const wait = async done => { while (!done()) await new Promise(next => setTimeout(next, 5)); };
  for (let count = 0; count < clicks; count += 1) {
    const button = () => here()?.querySelector('[data-testid=approve]');
    await wait(() => button() && button().getAttribute('aria-disabled') !== 'true');
    const id = here().dataset.card;
    const drawn = new Promise(done => {
      const observer = new MutationObserver(() => {
        const card = here();
        if (!card || card.dataset.card === id) return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0));
      });
      observer.observe(panel, { subtree: true, childList: true, attributes: true });
    });
    const start = performance.now();
    button().click();
    found.push(await drawn - start);
  }
  return found;
}"""


def clicked(store: str, clicks: int) -> Samples:
    with chromium() as browser:
        from tests.lab.driver import Lab
        from tests.lab.server import lab_server

        with lab_server() as server:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            runtime = "" if store == "memory" else ', runtime=SqliteCheckpointer("threads.db")'
            lab = Lab(server, page)
            notebook = lab.new("click.ipynb", CELL.format(clicks=clicks, runtime=runtime), 'await session.run("go")')
            notebook.run(0)
            notebook.run(1)
            page.wait_for_selector("[data-testid=panel] [data-card]")
            found: Samples = page.evaluate(MEASURE, clicks)
            notebook.stop()
            return found
