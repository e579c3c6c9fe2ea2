import { useEffect, useMemo, useState } from "preact/hooks";
import { type Change, diffJson, diffText, pathText } from "./diff";
import type { Maybe } from "./json";
import { Scroll } from "./scroll";
import { Plain } from "./text";
import { Value } from "./value";

/** Texts longer than this together are compared when typing pauses, not at every letter. */
const AT_ONCE = 8000;
const PAUSE_MS = 250;

/** A value that follows another one at once or, where that is a lot of work, when it has not changed for a moment. */
function useSettled<T>(value: T, atOnce: boolean): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    if (atOnce) return;
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value, atOnce]);
  return atOnce ? value : settled;
}

/** Two texts in one: taken away struck through, added underlined, and said in words to a screen reader. */
export function TextDiff({ before, after }: { before: string; after: string }) {
  const settled = useSettled(after, before.length + after.length <= AT_ONCE);
  if (before === settled) return <p class="llm4s-hint">No change yet.</p>;
  return (
    <Scroll class="llm4s-block llm4s-diff" label="Changes to the text">
      <Pieces before={before} after={settled} />
    </Scroll>
  );
}

function Pieces({ before, after }: { before: string; after: string }) {
  const pieces = useMemo(() => diffText(before, after), [before, after]);
  return (
    <>
      {pieces.map((piece, index) => {
        const text = <Plain text={piece.text} />;
        if (piece.change === "added") return <ins key={index}>{text}</ins>;
        return piece.change === "removed" ? <del key={index}>{text}</del> : <Plain key={index} text={piece.text} />;
      })}
    </>
  );
}

/** What an edit changes, place by place. */
export function ValueDiff({ before, after }: { before: Maybe; after: Maybe }) {
  const changes = diffJson(before, after);
  if (changes.length === 0) return <p class="llm4s-hint">No change yet.</p>;
  return (
    <table class="llm4s-table llm4s-diff" data-testid="diff">
      <caption class="llm4s-sr">What the edit changes</caption>
      <thead class="llm4s-sr">
        <tr>
          <th scope="col">field</th>
          <th scope="col">change</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr key={JSON.stringify(change.path)}>
            <th scope="row">
              <Plain text={pathText(change.path)} />
            </th>
            <td>
              <OneChange change={change} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Texts longer than this, or of several lines, are compared word by word in place. */
const SHORT = 60;
const isLong = (text: string) => text.length > SHORT || text.includes("\n");

function OneChange({ change: { before, after } }: { change: Change }) {
  if (typeof before === "string" && typeof after === "string" && (isLong(before) || isLong(after)))
    return <TextDiff before={before} after={after} />;
  return (
    <>
      {before === undefined ? null : (
        <del>
          <Value value={before} />
        </del>
      )}
      {before !== undefined && after !== undefined && <span class="llm4s-arrow"> → </span>}
      {after === undefined ? (
        <span class="llm4s-hint"> left out</span>
      ) : (
        <ins>
          <Value value={after} />
        </ins>
      )}
    </>
  );
}
