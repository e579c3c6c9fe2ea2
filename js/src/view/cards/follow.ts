import { useLayoutEffect, useRef } from "preact/hooks";
import type { PendingCard } from "../../wire/index";
import type { PanelScope } from "./context";
import { goTo } from "./keys";

/**
 * When the card that has the focus leaves, the card that takes its place gets it (W2.10). A change of the list made elsewhere moves no
 * focus, but every change of the order keeps clicks from counting for a moment.
 */
export function useFollow(cards: readonly PendingCard[], root: () => HTMLElement | null, scope: PanelScope): (event: FocusEvent) => void {
  const before = useRef<readonly string[]>([]);
  const focused = useRef<string | null>(null);
  const ids = cards.map((card) => card.id);
  useLayoutEffect(() => {
    const old = before.current;
    before.current = ids;
    if (old.length > 0 && !old.every((id, index) => ids[index] === id)) scope.guard.moved();
    const left = focused.current;
    const now = new Set(ids);
    if (left === null || now.has(left) || !old.includes(left)) return;
    focused.current = null;
    const at = old.indexOf(left);
    const after = old.slice(at + 1).find((id) => now.has(id)) ?? ids[ids.length - 1];
    const panel = root();
    if (panel === null) return;
    if (after !== undefined) goTo(scope, panel, after);
    else panel.focus();
  }, [ids.join("\n")]);
  return (event) => {
    const card = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-card]") : null;
    const entering = event.type === "focusin";
    // A control that vanished with its card sends focusout without a next target: the card still counts as focused.
    if (entering) focused.current = card?.dataset.card ?? null;
    else if (event.relatedTarget !== null) focused.current = null;
  };
}
