import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** The focus was in a box and what had it is gone after this drawing: it goes where it goes on, and not to the page's body. */
export function useKeptFocus(box: RefObject<HTMLElement | null>, next: () => HTMLElement | null | undefined): void {
  const had = holdsFocus(box.current);
  useLayoutEffect(() => {
    if (had && !holdsFocus(box.current)) next()?.focus();
  });
}

function holdsFocus(box: HTMLElement | null): boolean {
  const root = box?.getRootNode() as Document | ShadowRoot | undefined;
  return box?.contains(root?.activeElement ?? null) ?? false;
}

/** The first field below an element that has a fault. */
export function firstFault(element: HTMLElement | null): HTMLElement | null {
  const bad = element?.querySelector<HTMLElement>("[aria-invalid=true]") ?? null;
  return bad?.matches("input, textarea, select") ? bad : (bad?.querySelector<HTMLElement>("input") ?? null);
}
