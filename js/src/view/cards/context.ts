import type { ReadonlySignal, Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Desk } from "../desk";
import type { ClickGuard } from "./guard";

/** What all cards of one panel share. */
export interface PanelScope {
  readonly desk: Desk;
  readonly guard: ClickGuard;
  /** Starts every id of this view; unique in the page. */
  readonly prefix: string;
  /** Decisions are collected and sent together. */
  readonly together: Signal<boolean>;
  /** How often a person tried to send a card that could not be sent: from then on all its faults are said. */
  readonly tried: Signal<ReadonlyMap<string, number>>;
  /** A card to go to; it may have to be drawn first. */
  readonly wanted: Signal<string | null>;
  /** Decisions are being collected: by the switch, or because one is chosen. */
  readonly collecting: ReadonlySignal<boolean>;
}

const Panel = createContext<PanelScope | null>(null);
export const PanelProvider = Panel.Provider;

export function usePanel(): PanelScope {
  const scope = useContext(Panel);
  if (scope === null) throw new Error("a card outside a panel");
  return scope;
}
