import { Plain } from "./text";

export interface Fact {
  readonly name: string;
  readonly value: string;
  /** A moment, for those who read it by machine. */
  readonly at_ms?: number;
}

/** Short facts in a line: "agent: release". No definition list: notebooks style those for their own texts. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <p class="llm4s-facts">
      {facts.map(({ name, value, at_ms }) => (
        <span key={name} class="llm4s-fact">
          <span class="llm4s-fact-name">{`${name}: `}</span>
          {at_ms === undefined ? <Plain text={value} /> : <time dateTime={new Date(at_ms).toISOString()}>{value}</time>}
        </span>
      ))}
    </p>
  );
}
