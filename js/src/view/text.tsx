import { useState } from "preact/hooks";
import { Scroll } from "./scroll";
import { cut, marks, UNSEEN } from "./unseen";

/** So much of a text is drawn at first, and so much more each time it is asked for: a page that draws five million letters stands still. */
const AT_FIRST = 20_000;
const MORE = 100_000;

/**
 * A text as data: nothing in it is markup, a link or a control, it turns no reading order but its own, and what it holds that is not seen
 * is shown by number, so that it cannot look like another (W5.7). A long one is cut, says how long it is, and shows more when asked.
 */
export function Plain({ text }: { text: string }) {
  const [limit, setLimit] = useState(AT_FIRST);
  const shown = cut(text, limit);
  const parts: (string | preact.JSX.Element)[] = [];
  let from = 0;
  for (const found of shown.matchAll(UNSEEN)) {
    if (found.index > from) parts.push(shown.slice(from, found.index));
    parts.push(
      <span class="llm4s-unseen" key={found.index}>
        {marks(found[0])}
      </span>,
    );
    from = found.index + found[0].length;
  }
  if (from < shown.length) parts.push(shown.slice(from));
  const data = (
    <bdi class="llm4s-plain" dir="auto">
      {parts}
    </bdi>
  );
  if (shown.length === text.length) return data;
  return (
    <>
      {data}
      <span class="llm4s-cut">
        {`… ${number(shown.length)} of ${number(text.length)} characters `}
        <button type="button" class="llm4s-button llm4s-small" data-testid="show-more" onClick={() => setLimit(limit + MORE)}>
          Show more
        </button>
      </span>
    </>
  );
}

const number = (value: number) => value.toLocaleString("en");

/** A block of text that scrolls in itself when it is long. */
export function Block({ text, label, kind = "", follow }: { text: string; label: string; kind?: string; follow?: boolean }) {
  if (text === "") return <p class="llm4s-hint">(empty text)</p>;
  return (
    <Scroll class={`llm4s-block ${kind}`} label={label} follow={follow}>
      <Plain text={text} />
    </Scroll>
  );
}
