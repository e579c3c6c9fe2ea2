import { useState } from "preact/hooks";
import type { Json } from "../wire/index";
import { isObject } from "./json";
import { Plain } from "./text";

/** A JSON value to read: an object as labelled fields, a list as numbered ones, a text as it is, anything else as JSON. */
export function Value({ value, depth = 0 }: { value: Json; depth?: number }) {
  if (typeof value === "string") return value === "" ? <span class="llm4s-hint">(empty text)</span> : <Plain text={value} />;
  if (Array.isArray(value) && value.length > 0 && depth < 5)
    return <Rows rows={value.map((item, index) => [String(index + 1), item])} depth={depth} />;
  if (isObject(value) && Object.keys(value).length > 0 && depth < 5) return <Rows rows={Object.entries(value)} depth={depth} />;
  return (
    <code class="llm4s-literal">
      <Plain text={JSON.stringify(value, null, depth < 5 ? undefined : 1)} />
    </code>
  );
}

/** More rows than this are shown when asked for: ten thousand would hold up the page. */
const ROWS = 100;

function Rows({ rows, depth }: { rows: [string, Json][]; depth: number }) {
  const [all, setAll] = useState(false);
  const shown = all ? rows : rows.slice(0, ROWS);
  return (
    <table class="llm4s-table">
      <tbody>
        {shown.map(([name, item]) => (
          <tr key={name}>
            <th scope="row">
              <Plain text={name} />
            </th>
            <td>
              <Value value={item} depth={depth + 1} />
            </td>
          </tr>
        ))}
        {shown.length < rows.length && (
          <tr>
            <td colSpan={2}>
              <button type="button" class="llm4s-button llm4s-small" onClick={() => setAll(true)}>
                {`Show ${rows.length - shown.length} more`}
              </button>
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}
