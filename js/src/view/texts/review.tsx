import { useRef, useState } from "preact/hooks";
import { Help } from "../help";
import { ConnectionLine, Live, Trouble } from "../notes";
import { Changes } from "./changes";
import type { TextsDesk } from "./desk";
import { Detail } from "./detail";
import { Filters } from "./filters";
import { Head } from "./head";
import { KEYS, onTextsKey } from "./keys";
import { List } from "./list";
import { Table } from "./table";

/** Guardrails over many texts: what they refuse, one verdict after the other, and how often each guardrail was right. */
export function TextsView({ desk, prefix }: { desk: TextsDesk; prefix: string }) {
  const root = useRef<HTMLElement>(null);
  const [helping, setHelping] = useState(false);
  const focus = (testid: string) => root.current?.querySelector<HTMLElement>(`[data-testid="${testid}"]`)?.focus();
  // Once it is drawn, and before the next key: a letter typed into the field must not be a verdict.
  const soon = (testid: string) => queueMicrotask(() => focus(testid));
  const focusList = () => focus("texts-list");
  const state = desk.state.value;
  const refusal = desk.refusal.value;
  return (
    <section
      class="llm4s-console llm4s-texts"
      aria-label="Text review"
      data-testid="texts"
      tabIndex={-1}
      ref={root}
      onKeyDown={(event) => {
        const meant = onTextsKey(event, desk, {
          help: () => setHelping((on) => !on),
          focusList,
          focusEdit: () => soon("texts-edit"),
          focusNote: () => soon("texts-note"),
          focusSearch: () => focus("texts-search"),
        });
        if (meant) event.preventDefault();
      }}
    >
      <Head desk={desk} />
      <ConnectionLine desk={desk} />
      {refusal !== null && <Trouble {...refusal.error} testid="refusal" head="Not done" />}
      {state !== null && state.error !== null && <Trouble {...state.error} testid="error" head={state.error.type} />}
      <Table desk={desk} />
      <Changes desk={desk} />
      <div class="llm4s-texts-tools">
        <Filters desk={desk} prefix={prefix} onCleared={() => root.current?.focus()} />
        <span class="llm4s-texts-aside">
          <button
            type="button"
            class="llm4s-button llm4s-quiet llm4s-small"
            data-testid="texts-undo"
            disabled={state === null || !state.can_undo || desk.connection.value === "lost"}
            onClick={() => {
              desk.undo();
              focusList();
            }}
          >
            Undo
          </button>
          <button
            type="button"
            class="llm4s-button llm4s-quiet llm4s-small llm4s-help-button"
            aria-expanded={helping}
            aria-label="Keyboard help"
            onClick={() => setHelping((on) => !on)}
          >
            ?
          </button>
        </span>
      </div>
      {helping && <Help keys={KEYS} place="review" onClose={() => setHelping(false)} />}
      <div class="llm4s-texts-columns">
        <List desk={desk} prefix={prefix} />
        <Detail desk={desk} prefix={prefix} onDone={focusList} />
      </div>
      <Live desk={desk} />
    </section>
  );
}
