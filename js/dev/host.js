// Shows a widget without a notebook: a model in the page that answers like a session, for looking at and for screenshots.
// index.html?widget=console&session=waiting&dark&lab&width=320&views=2&shadow&readonly&dead&many=1000&hostile&huge

const query = new URLSearchParams(location.search);
const name = query.get("widget") ?? "console";
const session = await (await fetch(`../tests/fixtures/sessions/${query.get("session") ?? "waiting"}.json`)).json();
document.body.classList.toggle("dark", query.has("dark"));
document.body.classList.toggle("lab", query.has("lab"));

// So many things wait, copies of those of the fixture.
if (query.has("many")) {
  const kinds = session.pending;
  session.pending = Array.from({ length: Number(query.get("many")) }, (_, at) => ({ ...kinds[at % kinds.length], id: `9.${at}` }));
}
// Text of others that would rather be something else.
if (query.has("hostile")) {
  const text =
    "\u202eyas \u202c<button>Approve</button> ad\u200bmin \u001b[31mred\u001b[0m <script>globalThis.owned = 1</script> [ok](javascript:globalThis.owned=1) z\u0336\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309";
  for (const card of session.pending) {
    Object.assign(card, { title: text, reason: text, tool_name: card.tool_name && text, question: { [text]: text }, message: text });
    card.arguments = card.arguments && { [text]: text, environment: "pr\u202eod", line: "x".repeat(100000) };
  }
  for (const message of session.messages) {
    message.text = text;
    for (const call of message.tool_calls) Object.assign(call, { name: text, arguments: { [text]: text } });
  }
}
// A tool's result of five million letters.
if (query.has("huge")) {
  const result = "all work and no play makes a long result\n".repeat(125000);
  for (const message of session.messages) if (message.role === "tool") message.text = result;
  for (const card of session.pending) if (card.kind === "BREAKPOINT") card.result = result;
}

const shift = Date.now() - session.updated_at_ms;
session.updated_at_ms += shift;
for (const card of session.pending) card.since_ms += shift;
for (const one of session.answered) one.at_ms += shift;
if (session.run) session.run.started_at_ms += shift;

export const model = {
  traits: { state: session, options: { read_only: query.has("readonly"), view: name } },
  listeners: new Map(),
  requests: [],
  drafts: {},
  dead: query.has("dead"),
  refuse: null,
  get(key) {
    return this.traits[key];
  },
  on(event, callback) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), callback]);
  },
  off(event, callback) {
    this.listeners.set(
      event,
      (this.listeners.get(event) ?? []).filter((one) => one !== callback),
    );
  },
  emit(event, ...given) {
    for (const callback of this.listeners.get(event) ?? []) callback(...given);
  },
  push(change) {
    this.traits.state = { ...this.traits.state, ...change, revision: this.traits.state.revision + 1, updated_at_ms: Date.now() };
    this.emit("change:state");
  },
  send(request) {
    this.requests.push(request);
    if (!this.dead) setTimeout(() => this.answer(JSON.parse(JSON.stringify(request))), 30);
  },
  reply(message) {
    this.emit("msg:custom", message, []);
  },
  answer({ request_id, body }) {
    const done = (said) => this.reply({ kind: "done", request_id, said });
    const { revision, live } = this.traits.state;
    if (body.kind === "hello") this.reply({ kind: "welcome", request_id, revision, drafts: this.drafts, live });
    else if (body.kind === "save_draft") {
      if (body.draft === null) delete this.drafts[body.id];
      else this.drafts[body.id] = body.draft;
      done("");
      this.reply({ kind: "drafts", origin: request_id, drafts: { ...this.drafts } });
    } else if (body.kind === "submit" && this.refuse !== null) {
      this.reply({ kind: "refused", request_id, ...this.refuse });
      this.refuse = null;
    } else if (body.kind === "submit") {
      const ids = body.decisions.map((decision) => decision.id);
      const pending = this.traits.state.pending.filter((card) => !ids.includes(card.id));
      done(`${body.decisions.map((decision) => `${decision.decision} ${decision.id}`).join(", ")}, ${pending.length} left`);
      setTimeout(() => this.push({ pending }), 60);
    } else if (body.kind === "set_hold") {
      const key = body.phase === "BEFORE" ? "hold_before" : "hold_after";
      const nodes = this.traits.state.graph.nodes.map((node) =>
        node.id === body.node ? { ...node, [key]: body.on ? "on" : "off" } : node,
      );
      this.push({ graph: { ...this.traits.state.graph, nodes } });
      done(`${body.node}: hold ${body.phase.toLowerCase()} ${body.on ? "on" : "off"}`);
    } else done(`${body.kind} done`);
  },
};
globalThis.model = model;

const { default: widget } = await import(`../../llm4s_notebook/static/${name}.js`);
for (let count = Number(query.get("views") ?? 1); count > 0; count -= 1) {
  let el = document.createElement("div");
  if (query.has("width")) el.style.width = `${query.get("width")}px`;
  document.querySelector("#views").append(el);
  if (query.has("shadow")) {
    const shadow = el.attachShadow({ mode: "open" });
    const sheet = document.createElement("link");
    sheet.rel = "stylesheet";
    sheet.href = "../../llm4s_notebook/static/llm4s.css";
    shadow.append(sheet);
    el = shadow.appendChild(document.createElement("div"));
  }
  globalThis.cleanup = widget.render({ model, el });
}
globalThis.widget = widget;
document.body.dataset.ready = "yes";
