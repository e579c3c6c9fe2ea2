import { useState } from "preact/hooks";
import type { Json } from "../wire/index";
import { isObject, lostNumber } from "./json";
import { Plain } from "./text";

/** Rows that are shown at once, by depth, of a small value and of a large one; more when asked for: ten thousand would hold up the page. */
const ROWS = [100, 100, 100, 100, 100];
const FEW_ROWS = [50, 10, 4, 3, 2];
/** Rows that are shown each time more are asked for. */
const MORE = 100;
/** A value with more parts than this is large. */
const LARGE = 2000;

interface ValueProps {
  value: Json;
  depth?: number;
  rows?: readonly number[];
}

/** A JSON value to read: an object as labelled fields, a list as numbered ones, a text as it is, anything else as JSON; ≈ says that digits are lost. */
export function Value({ value, depth = 0, rows = parts(value) > LARGE ? FEW_ROWS : ROWS }: ValueProps) {
  if (typeof value === "string") return value === "" ? <span class="llm4s-hint">(empty text)</span> : <Plain text={value} />;
  if (depth < ROWS.length) {
    if (Array.isArray(value) && value.length > 0)
      return <Rows fields={value.map((item, index) => [String(index + 1), item])} depth={depth} rows={rows} />;
    if (isObject(value) && Object.keys(value).length > 0) return <Rows fields={Object.entries(value)} depth={depth} rows={rows} />;
  }
  return (
    <code class="llm4s-literal">
      <Plain text={(lostNumber(value) === null ? "" : "≈ ") + JSON.stringify(value, null, depth < ROWS.length ? undefined : 1)} />
    </code>
  );
}

/** How many parts a value has, counted no further than needed. */
function parts(value: Json): number {
  let count = 0;
  const open: Json[] = [value];
  for (let next = open.pop(); next !== undefined && count <= LARGE; next = open.pop()) {
    count += 1;
    if (typeof next !== "object" || next === null) continue;
    const inner = Array.isArray(next) ? next : Object.values(next);
    if (inner.length > LARGE) return inner.length;
    for (const item of inner) open.push(item);
  }
  return count;
}

/** A longer name is broken wherever it must be, so that it leaves room for its value. */
const LONG_NAME = 24;

function Rows({ fields, depth, rows }: { fields: [string, Json][]; depth: number; rows: readonly number[] }) {
  const [limit, setLimit] = useState(rows[depth] ?? 1);
  return (
    <table class="llm4s-table">
      <tbody>
        {fields.slice(0, limit).map(([name, item]) => (
          <tr key={name}>
            <th scope="row" class={name.length > LONG_NAME ? "llm4s-long-name" : undefined}>
              <Plain text={name} />
            </th>
            <td>
              <Value value={item} depth={depth + 1} rows={rows} />
            </td>
          </tr>
        ))}
        {limit < fields.length && (
          <tr>
            <td colSpan={2}>
              <button type="button" class="llm4s-button llm4s-small" onClick={() => setLimit(limit + MORE)}>
                {`Show ${Math.min(MORE, fields.length - limit)} more of ${fields.length}`}
              </button>
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}
