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
  return box?.contains(activeBeside(box)) ?? false;
}

/** The first field below an element that has a fault. */
export function firstFault(element: HTMLElement | null): HTMLElement | null {
  const bad = element?.querySelector<HTMLElement>("[aria-invalid=true]") ?? null;
  return bad?.matches("input, textarea, select") ? bad : (bad?.querySelector<HTMLElement>("input") ?? null);
}

/** Is the focus in an element, or nowhere? Where not, the person has gone elsewhere. */
export function isWithin(element: HTMLElement | null): boolean {
  const active = activeBeside(element);
  return active === null || active === document.body || (element?.contains(active) ?? false);
}

/** To what `find` finds once what was asked for is drawn, unless the person has gone elsewhere meanwhile. */
export function focusSoon(beside: Element | null, find: () => HTMLElement | null | undefined): void {
  const before = activeBeside(beside);
  requestAnimationFrame(() => {
    const active = activeBeside(beside);
    if (active === before || active === null || active === document.body) find()?.focus();
  });
}

function activeBeside(element: Element | null): Element | null {
  return (element?.getRootNode() as Document | ShadowRoot | undefined)?.activeElement ?? null;
}
