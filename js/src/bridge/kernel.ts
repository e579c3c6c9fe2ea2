import type { AnyModel } from "@anywidget/types";
import type { Options, RequestBody, SessionState } from "../wire/index";
import { hostOf } from "./host";

/** The kernel as a view sees it: one document that changes, and messages both ways. */
export interface Kernel<State = SessionState, Body = RequestBody> {
  state(): State | null;
  options(): Options;
  send(request: { request_id: string; body: Body }): void;
  onState(callback: () => void): () => void;
  onMessage(callback: (content: unknown) => void): () => void;
  onRestart(callback: () => void): () => void;
  /** True only where the host says that a cell runs: silence then means work, not absence. */
  busy(): boolean;
  dispose(): void;
}

type Editor = NonNullable<SessionState["editor"]>;

/** `agents` are the forms of the document's editor, where the host sends them beside it: they seldom change, and hold whole prompts. */
type Traits<State> = { state: State; options: Options; agents?: Editor["agents"] };

/**
 * The kernel behind an anywidget model. Requests go as custom messages and never as trait changes: the widget library counts a
 * trait change made during an awaiting cell as pending for ever and loses all later ones. What a listener raises goes to `onFault`.
 */
export function kernelOf<State extends { revision: number } = SessionState, Body extends object = RequestBody>(
  model: AnyModel<Traits<State>>,
  onFault: (error: unknown) => void,
): Kernel<State, Body> {
  const listen = <T extends unknown[]>(event: string, callback: (...given: T) => void) => {
    const safe = (...given: T) => {
      try {
        callback(...given);
      } catch (error) {
        onFault(error);
      }
    };
    model.on(event, safe as never);
    return () => model.off(event, safe as never);
  };
  const host = hostOf(model);
  return {
    state: () => {
      const state = model.get("state") as (State & { editor?: Editor | null }) | null | undefined;
      if (!state || !("revision" in state)) return null;
      const agents = model.get("agents");
      return agents && state.editor ? { ...state, editor: { ...state.editor, agents } } : state;
    },
    options: () => ({ ...{ read_only: false, view: "console" as const }, ...(model.get("options") ?? {}) }),
    send: (request) => model.send(request),
    onState: (callback) => listen("change:state", callback),
    onMessage: (callback) => listen("msg:custom", callback),
    onRestart: host.onRestart,
    busy: host.busy,
    dispose: host.dispose,
  };
}
