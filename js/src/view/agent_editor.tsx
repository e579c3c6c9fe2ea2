import { useRef, useState } from "preact/hooks";
import type { Json, JsonObject, WayOn } from "../wire/index";
import { Copy } from "./copy";
import type { Desk } from "./desk";
import { ValueDiff } from "./diff_view";
import { firstFault, focusSoon, isWithin } from "./focus";
import type { Fault } from "./form/check";
import { Form } from "./form/form";
import type { Schema } from "./form/schema";
import { faultsOf, readUnreads } from "./form/scope";
import { Plain } from "./text";

interface EditorProps {
  desk: Desk;
  prefix: string;
}

/** The prompt and the options of the session's agents, closed until somebody wants them (W4.5). What applies, and when, the kernel says. */
export function AgentEditor({ desk, prefix }: EditorProps) {
  const [open, setOpen] = useState(false);
  const [wanted, setWanted] = useState("");
  const [tried, setTried] = useState("");
  const head = useRef<HTMLElement>(null);
  const group = useRef<HTMLDivElement>(null);
  const view = desk.state.value?.editor;
  const agent = view?.agents.find((one) => one.id === wanted) ?? view?.agents[0];
  if (!view || !agent || desk.options.read_only) return null;
  const id = `agent:${agent.id}`;
  const draft = desk.drafts.value[id];
  const [form, before] = [agent.form as Schema, agent.values as JsonObject];
  const value = draft?.value ?? before;
  const unread = readUnreads(draft?.unread);
  const closed = desk.connection.value === "lost" || desk.asked.value.has("change_agent");
  const said = [draft && "not applied yet", view.said].filter(Boolean).join(" · ");
  const apply = async () => {
    setTried(id);
    if (faultsOf(form, value, unread).length > 0 || (await desk.changeAgent(agent.id, value)).kind !== "done") {
      if (isWithin(group.current)) focusSoon(group.current, () => firstFault(group.current));
      return;
    }
    desk.setDraft(id, null);
    setTried("");
    setOpen(false);
    head.current?.focus();
  };
  return (
    <>
      <details class="llm4s-details" data-testid="agent-editor" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary ref={head}>Prompt and options{said !== "" && <Plain text={` · ${said}`} />}</summary>
        {open && (
          <div
            ref={group}
            class="llm4s-answer"
            role="group"
            aria-label="Prompt and options"
            onKeyDown={(event) => {
              if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return undefined;
              event.preventDefault();
              return draft && !closed ? apply() : undefined;
            }}
          >
            {view.agents.length > 1 && (
              <select
                class="llm4s-input"
                aria-label="Agent"
                data-testid="agent"
                value={agent.id}
                onChange={(event) => setWanted(event.currentTarget.value)}
              >
                {view.agents.map((one) => (
                  <option key={one.id}>{one.id}</option>
                ))}
              </select>
            )}
            <Form
              key={id}
              schema={form}
              value={value}
              unread={unread}
              problems={(desk.problems.value[id] ?? []) as readonly Fault[]}
              thorough={tried === id}
              disabled={closed}
              label={agent.id}
              prefix={`${prefix}${id}`}
              onChange={(next, held) => {
                desk.clearProblems([id]);
                desk.setDraft(id, { value: next ?? null, unread: held as unknown as Json });
              }}
            />
            <p class="llm4s-hint">
              <Plain text={agent.about} />
            </p>
            {draft && <ValueDiff before={before} after={value} />}
            <div class="llm4s-actions">
              <button
                type="button"
                class="llm4s-button llm4s-primary"
                data-testid="apply"
                title="Ctrl+Enter"
                disabled={closed || !draft}
                onClick={apply}
              >
                Apply
              </button>
              {draft && (
                <button
                  type="button"
                  class="llm4s-button llm4s-quiet"
                  data-testid="discard"
                  onClick={() => {
                    desk.setDraft(id, null);
                    head.current?.focus();
                  }}
                >
                  Discard
                </button>
              )}
              {agent.code !== null && <Copy label="As code" testid="copy-agent" make={() => ({ text: agent.code ?? "" })} />}
            </div>
          </div>
        )}
      </details>
      <Offer desk={desk} prefix={prefix} onDone={() => head.current?.focus()} />
    </>
  );
}

/** Why the thread does not go on with the changed agent, and the ways on (W4.6). */
export function Offer({ desk, prefix, onDone }: EditorProps & { onDone?: () => void }) {
  const state = desk.state.value;
  const view = state?.editor;
  if (!state || !view || desk.options.read_only || (view.offer === null && view.ways.length === 0)) return null;
  const closed = desk.connection.value === "lost" || desk.asked.value.has("go_on");
  const choose = async (way: WayOn) => {
    if ((await desk.goOn(way, state.thread_id)).kind !== "done") return;
    const prompt = document.getElementById(`${prefix}prompt`);
    if (prompt) prompt.focus();
    else onDone?.();
  };
  return (
    <div class={`llm4s-answer${view.offer === null ? "" : " llm4s-warning"}`} data-testid="offer" role="group" aria-label="How to go on">
      {view.offer !== null && (
        <p>
          <Plain text={view.offer} />
        </p>
      )}
      {view.ways.map(({ way, label, about }) => (
        <div class="llm4s-actions" key={way}>
          <button
            type="button"
            class="llm4s-button"
            data-testid={way}
            aria-describedby={`${prefix}${way}`}
            disabled={closed}
            onClick={() => choose(way)}
          >
            <Plain text={label} />
          </button>
          <span class="llm4s-hint" id={`${prefix}${way}`}>
            <Plain text={about} />
          </span>
        </div>
      ))}
    </div>
  );
}
