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
