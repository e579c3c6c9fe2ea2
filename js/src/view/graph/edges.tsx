import type { EdgeView } from "../../wire/index";
import { edgeKey } from "./geometry";
import type { Layout } from "./layout";
import { pathOf } from "./route";

/** The edges, those taken last so that they lie on top: static ones solid, declared routes dashed, taken ones solid and strong. */
export function Edges({ edges, layout, prefix }: { edges: readonly EdgeView[]; layout: Layout; prefix: string }) {
  const ordered = [...edges.filter((edge) => !edge.taken), ...edges.filter((edge) => edge.taken)];
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
    <g aria-hidden="true">
      <defs>
        <Arrow id={`${prefix}arrow`} look="llm4s-arrowhead" />
        <Arrow id={`${prefix}arrow-taken`} look="llm4s-arrowhead llm4s-taken" />
      </defs>
      {ordered.map((edge) => (
        <path
          key={edgeKey(edge)}
          class={`llm4s-edge llm4s-edge-${edge.kind}${edge.taken ? " llm4s-taken" : ""}`}
          data-edge={edgeKey(edge)}
          data-taken={edge.taken}
          d={pathOf(layout.routes.get(edgeKey(edge)) ?? [])}
          marker-end={`url(#${prefix}${edge.taken ? "arrow-taken" : "arrow"})`}
        />
      ))}
    </g>
  );
}

function Arrow({ id, look }: { id: string; look: string }) {
  return (
    <marker
      id={id}
      viewBox="0 0 10 10"
      refX="9"
      refY="5"
      markerWidth="9"
      markerHeight="9"
      orient="auto-start-reverse"
      markerUnits="userSpaceOnUse"
    >
      <path class={look} d="M0,0.5L9.5,5L0,9.5z" />
    </marker>
  );
}
