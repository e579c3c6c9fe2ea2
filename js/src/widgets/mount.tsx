import type { AnyModel } from "@anywidget/types";
import type { ComponentType } from "preact";
import { options, render } from "preact";
import { Desk } from "../bridge/desk";
import { freshId } from "../bridge/ids";
import { kernelOf } from "../bridge/kernel";
import type { Desk as ViewDesk } from "../view/desk";
import { Guarded } from "../view/guarded";
import { followTheme } from "../view/theme";
import { oneLine } from "../view/unseen";
import type { Options, SessionState } from "../wire/index";

type Model = AnyModel<{ state: SessionState; options: Options }>;
type View = ComponentType<{ desk: ViewDesk; prefix: string }>;

/** A widget as anywidget wants it: each view has its own desk, ids and listeners, and takes them away when it goes. */
export function widget(View: View) {
  return {
    render({ model, el }: { model: Model; el: HTMLElement }): () => void {
      const desk: Desk = new Desk(kernelOf(model, (error) => desk.fault(error)));
      const root = document.createElement("div");
      root.className = "llm4s-root";
      el.append(root);
      const stops = [followTheme(root), keepKeys(root), stayInTouch(root, desk), hearFaults(root, desk)];
      render(
        <Guarded what="This view">
          <View desk={desk} prefix={`llm4s-${freshId().slice(0, 8)}-`} />
        </Guarded>,
        root,
      );
      return () => {
        for (const stop of stops) stop();
        render(null, root);
        desk.dispose();
        root.remove();
      };
    },
  };
}

/**
 * Keep the notebook's shortcuts out. JupyterLab looks for its attribute from the focused element upwards and its command-mode bindings
 * end in `:focus`, so it has to stand on the focused element itself; hosts that do not know it are stopped at our root.
 */
function keepKeys(root: HTMLElement): () => void {
  const mark = (event: FocusEvent) => {
    if (event.target instanceof Element) event.target.setAttribute("data-lm-suppress-shortcuts", "true");
  };
  const stop = (event: Event) => event.stopPropagation();
  root.addEventListener("focusin", mark);
  for (const type of KEY_EVENTS) root.addEventListener(type, stop);
  return () => {
    root.removeEventListener("focusin", mark);
    for (const type of KEY_EVENTS) root.removeEventListener(type, stop);
  };
}

const FAULT = "llm4s-fault";

/**
 * Every handler of an element tells its view what it raises (F33): a browser would only write it to a console that nobody has
 * open. Every name of an element is one line of characters that are seen.
 */
const drawn = options.vnode;
options.vnode = (vnode) => {
  const props = vnode.props as Record<string, unknown>;
  if (typeof vnode.type === "string") {
    for (const [name, handler] of Object.entries(props)) {
      if (name.startsWith("on") && typeof handler === "function") props[name] = told(handler as Handler);
    }
    // A name may hold what a model wrote, as an argument's name; it is no element, so what is not seen is named in it as text (W5.7).
    const label = props["aria-label"];
    if (typeof label === "string") props["aria-label"] = oneLine(label, 200);
  }
  drawn?.(vnode);
};

type Handler = (this: unknown, event: Event) => unknown;

function told(handler: Handler): Handler {
  return function (event) {
    const home = (event.currentTarget as Element | null)?.closest(".llm4s-root");
    const tell = (detail: unknown) => home?.dispatchEvent(new CustomEvent(FAULT, { detail }));
    try {
      const result = handler.call(this, event);
      if (result instanceof Promise) result.catch(tell);
      return result;
    } catch (error) {
      tell(error);
      return undefined;
    }
  };
}

function hearFaults(root: HTMLElement, desk: Desk): () => void {
  const hear = (event: Event) => desk.fault((event as CustomEvent).detail);
  root.addEventListener(FAULT, hear);
  return () => root.removeEventListener(FAULT, hear);
}

const KEY_EVENTS = ["keydown", "keypress", "keyup"];

/** Ask whether the kernel is there when a person comes to the view, and save drafts before the page may go. */
function stayInTouch(root: HTMLElement, desk: Desk): () => void {
  const touched = () => desk.link.touched();
  const shownOrHidden = () => (document.visibilityState === "hidden" ? desk.store.flush() : touched());
  const leaving = () => desk.store.flush();
  root.addEventListener("pointerenter", touched);
  root.addEventListener("focusin", touched);
  document.addEventListener("visibilitychange", shownOrHidden);
  window.addEventListener("pagehide", leaving);
  return () => {
    root.removeEventListener("pointerenter", touched);
    root.removeEventListener("focusin", touched);
    document.removeEventListener("visibilitychange", shownOrHidden);
    window.removeEventListener("pagehide", leaving);
  };
}
