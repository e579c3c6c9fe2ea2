import type { PanelScope } from "./context";
import { choicesOf } from "./decide";
import type { Choice } from "./draft";
import { shown } from "./groups";
import { Hand } from "./hand";

/** The keys of the panel, as the help lists them. */
export const KEYS: readonly [string, string][] = [
  ["j / k", "next and previous card"],
  ["a", "choose approve (or allow)"],
  ["r", "open the reason to reject (or choose block)"],
  ["e", "open the edit"],
  ["p", "choose proceed"],
  ["Ctrl+Enter", "submit what is chosen, or the card you are in"],
  ["?", "this help"],
];

/** Typing in a field is typing: no key but Ctrl+Enter means anything there. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button"].includes(target.type);
}

export interface KeyActions {
  help(): void;
  submitChosen(): boolean;
}

/** Act on a key pressed inside the panel (W5.6). A letter chooses and never sends: a stray key runs nothing. True if it meant something. */
export function onPanelKey(event: KeyboardEvent, scope: PanelScope, root: HTMLElement, actions: KeyActions): boolean {
  if (event.isComposing) return false;
  if (event.repeat || scope.guard.settling.value) return event.key === "Enter" && !isTyping(event.target);
  const current = cardOf(event.target);
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
    if (scope.desk.options.read_only || scope.desk.connection.value === "lost") return true;
    if (!actions.submitChosen()) sendCurrent(scope, current);
    return true;
  }
  // The notebook's way to run a cell; on a focused button a browser would take it for a click.
  if (event.key === "Enter" && (event.shiftKey || event.altKey) && !isTyping(event.target)) return true;
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === "?") actions.help();
  else if (event.key === "j" || event.key === "k") focusBeside(scope, root, current, event.key === "j" ? 1 : -1);
  else return decideByKey(event.key, scope, root, current);
  return true;
}

function cardOf(target: EventTarget | null): string | null {
  return target instanceof Element ? (target.closest<HTMLElement>("[data-card]")?.dataset.card ?? null) : null;
}

function sendCurrent(scope: PanelScope, current: string | null): void {
  const card = scope.desk.state.value?.pending.find((one) => one.id === current);
  if (card === undefined) return;
  const hand = new Hand(scope, card);
  const { decision } = hand.draft;
  const choice = decision ?? (choicesOf(card)[0] === "reply" ? "reply" : null);
  if (choice !== null) hand.send(choice);
}

function focusBeside(scope: PanelScope, root: HTMLElement, current: string | null, by: 1 | -1): void {
  const cards = shown(scope.desk.state.value?.pending ?? []);
  const at = cards.findIndex((card) => card.id === current);
  const next = at < 0 ? cards[by > 0 ? 0 : cards.length - 1] : cards[at + by];
  if (next !== undefined) focusCard(root, next.id);
}

function decideByKey(key: string, scope: PanelScope, root: HTMLElement, current: string | null): boolean {
  const card = scope.desk.state.value?.pending.find((one) => one.id === current);
  const choice = card === undefined ? undefined : choicesOf(card).find((one) => KEY_OF[one] === key);
  if (card === undefined || choice === undefined) return false;
  if (scope.desk.options.read_only || scope.desk.connection.value === "lost") return true;
  const hand = new Hand(scope, card);
  if (choice === "reject" || choice === "edit") {
    hand.change({ decision: choice });
    requestAnimationFrame(() =>
      cardElement(root, card.id)?.querySelector<HTMLElement>(".llm4s-editor input, .llm4s-editor textarea, .llm4s-editor select")?.focus(),
    );
  } else {
    hand.choose(choice);
  }
  return true;
}

const KEY_OF: Readonly<Record<Choice, string>> = { approve: "a", allow: "a", reject: "r", block: "r", edit: "e", reply: "", proceed: "p" };

export function cardElement(root: ParentNode, id: string): HTMLElement | null {
  return [...root.querySelectorAll<HTMLElement>("[data-card]")].find((card) => card.dataset.card === id) ?? null;
}

/** Move the focus to a card, scrolling as little as that needs. */
export function focusCard(root: ParentNode, id: string): void {
  cardElement(root, id)?.focus();
}
