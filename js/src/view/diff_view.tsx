import { diffJson, diffText, pathText } from "./diff";
import type { Maybe } from "./json";
import { Scroll } from "./scroll";
import { Plain } from "./text";
import { Value } from "./value";

/** Two texts in one: taken away struck through, added underlined, and said in words to a screen reader. */
export function TextDiff({ before, after }: { before: string; after: string }) {
  if (before === after) return <p class="llm4s-hint">No change yet.</p>;
  return (
    <Scroll class="llm4s-block llm4s-diff" label="Changes to the text">
      {diffText(before, after).map((piece, index) => {
        const key = index;
        if (piece.change === "added") {
          return (
            <ins key={key}>
              <Plain text={piece.text} />
            </ins>
          );
        }
        if (piece.change === "removed") {
          return (
            <del key={key}>
              <Plain text={piece.text} />
            </del>
          );
        }
        return <Plain key={key} text={piece.text} />;
      })}
    </Scroll>
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
              {change.before === undefined ? null : (
                <del>
                  <Value value={change.before} />
                </del>
              )}
              {change.before !== undefined && change.after !== undefined && <span class="llm4s-arrow"> → </span>}
              {change.after === undefined ? (
                <span class="llm4s-hint"> left out</span>
              ) : (
                <ins>
                  <Value value={change.after} />
                </ins>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
