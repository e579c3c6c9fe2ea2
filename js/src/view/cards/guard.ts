import { signal } from "@preact/signals";

/** After the cards have moved, decisions are not taken for this long: the second click of a double click is meant for what was there before. */
const SETTLE_MS = 350;

/**
 * Keeps a click from deciding what it was not meant for (F38): a click counts only where its pointer went down on the same control,
 * and not while cards are settling after one has left or come.
 */
export class ClickGuard {
  readonly settling = signal(false);
  private pressed: string | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** The cards have moved. */
  moved(): void {
    this.settling.value = true;
    this.pressed = null;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.settling.value = false;
    }, SETTLE_MS);
  }

  press(control: string): void {
    this.pressed = control;
  }

  /**
   * Does this click on `control` count? A click without a pointer (keyboard, assistive technology) has `detail` 0; the second click of
   * a double click has 2, and decides nothing.
   */
  accepts(event: MouseEvent, control: string): boolean {
    const pressed = this.pressed;
    this.pressed = null;
    if (this.settling.value || event.detail > 1) return false;
    return event.detail === 0 || pressed === control;
  }

  dispose(): void {
    clearTimeout(this.timer);
  }
}
