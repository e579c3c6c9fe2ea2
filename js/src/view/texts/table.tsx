import type { GuardrailCounts, TextFilter } from "../../wire/texts";
import { Plain } from "../text";
import type { TextsDesk } from "./desk";
import { numberText } from "./words";

type Counted = Exclude<keyof GuardrailCounts, "guardrail">;

interface Column {
  readonly of: Counted;
  readonly heading: string;
  readonly look: Pick<TextFilter, "show" | "verdict">;
}

const COLUMNS: readonly Column[] = [
  { of: "refused", heading: "refused", look: { show: "refused", verdict: "any" } },
  { of: "block", heading: "right", look: { show: "refused", verdict: "block" } },
  { of: "allow", heading: "false alarms", look: { show: "refused", verdict: "allow" } },
  { of: "edit", heading: "edited", look: { show: "refused", verdict: "edit" } },
  { of: "undecided", heading: "undecided", look: { show: "refused", verdict: "undecided" } },
  { of: "fixed", heading: "fixed", look: { show: "fixed", verdict: "any" } },
  { of: "errors", heading: "errors", look: { show: "errors", verdict: "any" } },
];

/** Guardrail by verdict; a number lists its texts. Columns that nothing is in are left away where they are the rare ones. */
export function Table({ desk }: { desk: TextsDesk }) {
  const state = desk.state.value;
  if (state === null || state.checked === 0 || state.guardrails.length === 0) return null;
  const columns = COLUMNS.filter(({ of }) => (of !== "fixed" && of !== "errors") || state.totals[of] > 0);
  const lines = state.table.length > 1 ? [...state.table, state.totals] : state.table;
  return (
    <div class="llm4s-texts-table-box">
      <table class="llm4s-texts-table" data-testid="texts-table">
        <caption class="llm4s-sr">Guardrail by verdict; a number lists its texts</caption>
        <thead>
          <tr>
            <th scope="col">guardrail</th>
            {columns.map(({ of, heading }) => (
              <th key={of} scope="col">
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr key={line === state.totals ? "" : line.guardrail} class={line === state.totals ? "llm4s-texts-total" : undefined}>
              <th scope="row">
                <Plain text={line.guardrail} />
              </th>
              {columns.map((column) => (
                <td key={column.of}>
                  <Count desk={desk} column={column} line={line} total={line === state.totals} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Count({ desk, column, line, total }: { desk: TextsDesk; column: Column; line: GuardrailCounts; total: boolean }) {
  const count = line[column.of];
  if (count === 0) return <span class="llm4s-texts-none">0</span>;
  const wanted = { ...column.look, guardrail: total ? null : line.guardrail };
  const filter = desk.filter.value;
  const pressed =
    filter.search === "" && filter.show === wanted.show && filter.verdict === wanted.verdict && filter.guardrail === wanted.guardrail;
  return (
    <button
      type="button"
      class="llm4s-texts-number"
      data-testid={`texts-count-${total ? "" : line.guardrail}-${column.of}`}
      aria-pressed={pressed}
      aria-label={`${line.guardrail}, ${column.heading}: ${count}`}
      onClick={() => desk.look({ ...wanted, search: "" })}
    >
      {numberText(count)}
    </button>
  );
}
