import type { AnyModel } from "@anywidget/types";
import type { JSX } from "preact";
import { render } from "preact";
import { Desk } from "../bridge/desk";
import { freshId } from "../bridge/ids";
import { kernelOf } from "../bridge/kernel";
import type { Desk as ViewDesk } from "../view/desk";
import { followTheme } from "../view/theme";
import type { Options, SessionState } from "../wire/index";

type Model = AnyModel<{ state: SessionState; options: Options }>;
type View<D> = (props: { desk: D; prefix: string; root: HTMLElement }) => JSX.Element | null;

/** What the page itself asks of a desk, whatever it shows. */
interface AnyDesk {
  readonly link: { touched(): void };
  readonly store: { flush(): void };
  dispose(): void;
}

/** A session's widget. */
export const widget = (View: View<ViewDesk>) => mounted<Desk, Model>(View, (model) => new Desk(kernelOf(model)));

/** A widget as anywidget wants it: each view has its own desk, ids and listeners, and takes them away when it goes. */
export function mounted<D extends AnyDesk, M>(View: View<D>, open: (model: M) => D) {
  return {
    render({ model, el }: { model: M; el: HTMLElement }): () => void {
      const desk = open(model);
      const root = document.createElement("div");
      root.className = "llm4s-root";
      el.append(root);
      const stops = [followTheme(root), keepKeys(root), stayInTouch(root, desk)];
      render(<View desk={desk} prefix={`llm4s-${freshId().slice(0, 8)}-`} root={root} />, root);
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

const KEY_EVENTS = ["keydown", "keypress", "keyup"];

/** Ask whether the kernel is there when a person comes to the view, and save drafts before the page may go. */
function stayInTouch(root: HTMLElement, desk: AnyDesk): () => void {
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
