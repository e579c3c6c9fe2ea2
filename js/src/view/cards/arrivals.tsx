import { useEffect, useRef, useState } from "preact/hooks";
import type { PendingCard } from "../../wire/index";
import { oneLine } from "../unseen";

/** Says to those who do not see it that something new waits. What was there when the view came is not news. */
export function Arrivals({ cards }: { cards: readonly PendingCard[] }) {
  const known = useRef<ReadonlySet<string> | null>(null);
  const [said, setSaid] = useState("");
  const ids = cards.map((card) => card.id);
  useEffect(() => {
    const fresh = known.current === null ? [] : cards.filter((card) => !known.current?.has(card.id));
    known.current = new Set(ids);
    if (fresh.length > 0) setSaid(fresh.length === 1 ? oneLine(fresh[0]?.title ?? "") : `${fresh.length} more things wait for you`);
  }, [ids.join("\n")]);
  return (
    <div class="llm4s-sr" role="status" data-testid="arrivals">
      {said}
    </div>
  );
}
