import type { Json } from "../../wire/index";
import { Scroll } from "../scroll";
import { Value } from "../value";

/** A call's arguments, to read. */
export function Arguments({ value }: { value: Json | undefined }) {
  const empty = value === null || value === undefined || (typeof value === "object" && Object.keys(value).length === 0);
  return empty ? (
    <p class="llm4s-hint">No arguments.</p>
  ) : (
    <Scroll class="llm4s-data" label="Arguments">
      <Value value={value as Json} />
    </Scroll>
  );
}
