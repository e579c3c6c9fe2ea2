import type { NodeView } from "../../wire/index";
import type { Box } from "./geometry";
import { shortLabel } from "./layout";
import { nodeName, SIGNS } from "./words";

interface NodeProps {
  node: NodeView;
  box: Box;
  folded: number;
  /** The one node that the Tab key reaches. */
  current: boolean;
  open: boolean;
  onOpen: () => void;
  onFocus: () => void;
}

/** A node: status by sign and colour, the two gutter marks of its breakpoints, and how many tasks are held or wait. */
export function Node({ node, box, folded, current, open, onOpen, onFocus }: NodeProps) {
  const left = box.x - box.width / 2;
  const top = box.y - box.height / 2;
  const count = node.held + node.waiting;
  const sign = SIGNS[node.status];
  return (
    <g class={`llm4s-node llm4s-is-${node.status} llm4s-role-${node.role}${open ? " llm4s-open" : ""}`}>
      <g
        class="llm4s-node-body"
        role="button"
        tabindex={current ? 0 : -1}
        aria-label={nodeName(node, folded)}
        aria-expanded={open}
        data-testid={`node-${node.id}`}
        data-node={node.id}
        data-status={node.status}
        onClick={onOpen}
        onFocus={onFocus}
      >
        <title>{nodeName(node, folded)}</title>
        {folded > 0 && <rect class="llm4s-node-stack" x={left + 4} y={top + 4} width={box.width} height={box.height} rx="8" />}
        <rect class="llm4s-node-box" x={left} y={top} width={box.width} height={box.height} rx="8" />
        <path class="llm4s-node-gutter" d={`M${left + 20},${top + 0.5}V${top + box.height - 0.5}`} />
        <Mark x={left + 10} y={top + 11} hold={node.hold_before} side="before" />
        <Mark x={left + 10} y={top + box.height - 11} hold={node.hold_after} side="after" />
        {sign !== "" && <path class="llm4s-node-sign" d={sign} transform={`translate(${left + 28},${box.y - 5})`} />}
        <text class="llm4s-node-label" x={left + (sign === "" ? 29 : 45)} y={box.y + 4.5}>
          {shortLabel(node.label)}
        </text>
      </g>
      {count > 0 && (
        // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
        <g class="llm4s-badge" aria-hidden="true" data-testid={`held-${node.id}`}>
          <rect x={left + box.width - 13} y={top - 10} width={count > 9 ? 28 : 22} height="20" rx="10" />
          <text x={left + box.width - 13 + (count > 9 ? 14 : 11)} y={top + 4.5}>
            {count}
          </text>
        </g>
      )}
    </g>
  );
}

/** A gutter mark: empty where nothing holds, full where a person set it, with a bar where the agent's own breakpoint is fixed. */
function Mark({ x, y, hold, side }: { x: number; y: number; hold: NodeView["hold_before"]; side: "before" | "after" }) {
  if (hold === "fixed") {
    return (
      <g class="llm4s-mark llm4s-mark-fixed" data-mark={side} data-hold={hold}>
        <rect x={x - 5} y={y - 5} width="10" height="10" rx="2" />
        <path d={`M${x - 2.5},${y}H${x + 2.5}`} />
      </g>
    );
  }
  return <circle class={`llm4s-mark llm4s-mark-${hold}`} data-mark={side} data-hold={hold} cx={x} cy={y} r={hold === "on" ? 5 : 3} />;
}
