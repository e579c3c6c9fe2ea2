import { Scroll } from "./scroll";

/**
 * Characters that are not seen or that turn the reading order: shown by their number, so that a text cannot look like another. Joiners
 * (U+200C, U+200D) stay, since scripts and emoji are written with them.
 */
const UNSEEN = /(?![\t\n\r])\p{Cc}|(?![\u200c\u200d])\p{Cf}/gu;

const numberOf = (letter: string) => `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** The same for a place that takes no elements, such as an option of a list. */
export const visible = (text: string): string => text.replace(UNSEEN, (letter) => `[${numberOf(letter)}]`);

/** A text as data: nothing in it is markup, a link or a control (W5.7). */
export function Plain({ text }: { text: string }) {
  const parts: (string | preact.JSX.Element)[] = [];
  let from = 0;
  for (const found of text.matchAll(UNSEEN)) {
    if (found.index > from) parts.push(text.slice(from, found.index));
    parts.push(
      <span class="llm4s-unseen" key={found.index}>
        {numberOf(found[0])}
      </span>,
    );
    from = found.index + found[0].length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return (
    <bdi class="llm4s-plain" dir="auto">
      {parts}
    </bdi>
  );
}

/** A block of text that scrolls in itself when it is long. */
export function Block({ text, label, kind = "" }: { text: string; label: string; kind?: string }) {
  if (text === "") return <p class="llm4s-hint">(empty text)</p>;
  return (
    <Scroll class={`llm4s-block ${kind}`} label={label}>
      <Plain text={text} />
    </Scroll>
  );
}
