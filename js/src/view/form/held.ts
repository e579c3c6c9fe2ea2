import { useRef, useState } from "preact/hooks";

/**
 * True while `now` is, and from then on until the focus leaves: a control that goes away while somebody types into it takes the focus with
 * it, and the next letters would be the notebook's. `hold` goes onto the element around the control.
 */
export function useHeld(now: boolean) {
  const inside = useRef(false);
  const was = useRef(false);
  const [, again] = useState(0);
  const held = now || (inside.current && was.current);
  was.current = held;
  const hold = {
    onFocusIn: () => {
      inside.current = true;
    },
    onFocusOut: () => {
      inside.current = false;
      again((count) => count + 1);
    },
  };
  return { held, inside, hold };
}
