import type { ComponentChildren } from "preact";
import { usePanel } from "./context";

interface ActProps {
  /** Names the control within its card: "approve". */
  name: string;
  /** The card it belongs to; empty for the panel's own. */
  of?: string;
  testid: string;
  look?: "primary" | "danger" | undefined;
  pressed?: boolean | undefined;
  expanded?: boolean | undefined;
  /** On its way: keeps its place and focus, and does nothing. */
  busy?: boolean;
  /** Nobody is there to act. */
  disabled?: boolean;
  label?: string | undefined;
  onAct: () => void;
  children: ComponentChildren;
}

/** A button that decides something. Keyed and guarded by the card's id, so that a click never decides the card that moved under it. */
export function Act({ name, of = "", testid, look, pressed, expanded, busy = false, disabled = false, label, onAct, children }: ActProps) {
  const { guard } = usePanel();
  const control = `${of} ${name}`;
  const waits = busy || guard.settling.value;
  return (
    <button
      type="button"
      class={`llm4s-button${look === undefined ? "" : ` llm4s-${look}`}`}
      data-testid={testid}
      aria-label={label}
      aria-pressed={pressed}
      aria-expanded={expanded}
      aria-disabled={waits ? "true" : undefined}
      disabled={disabled}
      onPointerDown={() => guard.press(control)}
      onClick={(event) => {
        if (guard.accepts(event, control) && !busy) onAct();
      }}
    >
      {children}
    </button>
  );
}
