import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { GraphPicture, NodeView } from "../../wire/index";
import type { Desk } from "../desk";
import { Plain } from "../text";
import { oneLine } from "../unseen";
import { Detail } from "./detail";
import { Edges } from "./edges";
import { fold } from "./fold";
import { type Layout, layOut } from "./layout";
import { type Direction, nearest } from "./nearest";
import { Node } from "./node";

const ZOOMS = [0.25, 0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.5, 2];

interface GraphProps {
  desk: Desk;
  prefix: string;
  onCard?: ((id: string) => void) | undefined;
}

/** The graph as it runs: nodes to open, edges and routes, what is held and what was taken (W3). */
export function Graph({ desk, prefix, onCard }: GraphProps) {
  const picture = desk.state.value?.graph;
  return picture === undefined || picture.nodes.length === 0 ? null : (
    <Diagram desk={desk} prefix={prefix} picture={picture} onCard={onCard} />
  );
}

function Diagram({ desk, prefix, picture, onCard }: GraphProps & { picture: GraphPicture }) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const [zoom, setZoom] = useState(1);
  const [current, setCurrent] = useState<string | null>(null);
  const [open, setOpen] = useState<string | null>(null);
  const canvas = useRef<HTMLDivElement>(null);
  const drawing = useMemo(() => fold(picture, unfolded), [picture, unfolded]);
  // Laid out once per topology: a changed status moves nothing.
  const layout = useMemo(() => layOut(drawing), [picture.topology, unfolded]);
  const nodes = drawing.nodes.filter((node) => layout.boxes.has(node.id));
  const focusable = nodes.some((node) => node.id === current)
    ? current
    : (nodes.find((node) => node.id === picture.entry)?.id ?? nodes[0]?.id ?? null);
  const opened = nodes.find((node) => node.id === open);
  const are = (status: NodeView["status"]) => nodes.filter((node) => node.status === status);
  const matters = nodes.find((node) => node.held + node.waiting > 0) ?? are("running")[0] ?? are("failed")[0];
  // When nothing runs any more the view stays where the turn was last; of one that is over already it shows the end.
  const watched = useRef("");
  if (matters !== undefined) watched.current = matters.id;
  if (!layout.boxes.has(watched.current)) watched.current = are("done").at(-1)?.id ?? picture.entry;
  useScrollTo(canvas, layout, zoom, watched.current, picture.topology);

  const focusNode = (id: string) => {
    setCurrent(id);
    const found = [...(canvas.current?.querySelectorAll<SVGElement>("[data-node]") ?? [])].find((node) => node.dataset.node === id);
    found?.focus({ preventScroll: true });
    showBox(canvas.current, layout, zoom, id);
  };
  const close = () => {
    const was = open;
    setOpen(null);
    if (was !== null) focusNode(was);
  };
  const step = (by: number) => setZoom((before) => ZOOMS[clamp(nearestIndex(before) + by, ZOOMS.length)] ?? 1);
  const onKey = (event: KeyboardEvent) => {
    const id = event.target instanceof Element ? event.target.closest<SVGElement>("[data-node]")?.dataset.node : undefined;
    if (id === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in ARROWS) {
      const next = nearest(layout.boxes, id, event.key as Direction);
      if (next !== null) focusNode(next);
    } else if (event.key === "Home" || event.key === "End") {
      const edge = event.key === "Home" ? nodes[0] : nodes[nodes.length - 1];
      if (edge !== undefined) focusNode(edge.id);
    } else if (event.key === "Enter" || event.key === " ") setOpen(open === id ? null : id);
    else if (event.key === "Escape" && open !== null) setOpen(null);
    else if (event.key === "+" || event.key === "=") step(1);
    else if (event.key === "-") step(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class="llm4s-graph" aria-label={`Graph ${oneLine(picture.graph_id)}`} data-testid="graph">
      <div class="llm4s-graph-head">
        <h3 class="llm4s-heading">
          Graph <Plain text={picture.graph_id} />
        </h3>
        <Zoom zoom={zoom} onStep={step} onSet={setZoom} onFit={() => setZoom(fitting(canvas.current, layout))} />
      </div>
      {desk.state.value?.holds_apply_next_run && (
        <p class="llm4s-hint" data-testid="holds-next">
          A run is under way: switched breakpoints apply from the next run or resume.
        </p>
      )}
      <div class="llm4s-canvas" ref={canvas}>
        <svg
          role="group"
          aria-label={`${nodes.length} nodes; arrow keys move between them, Enter opens one`}
          width={layout.width * zoom}
          height={layout.height * zoom}
          viewBox={`${layout.left} ${layout.top} ${layout.width} ${layout.height}`}
          onKeyDown={onKey}
        >
          <Edges edges={drawing.edges} layout={layout} prefix={prefix} />
          {nodes.map((node) => {
            const box = layout.boxes.get(node.id);
            return (
              box !== undefined && (
                <Node
                  key={node.id}
                  node={node}
                  box={box}
                  folded={unfolded.has(node.id) ? 0 : (drawing.folded.get(node.id) ?? 0)}
                  current={node.id === focusable}
                  open={node.id === open}
                  onOpen={() => setOpen(open === node.id ? null : node.id)}
                  onFocus={() => setCurrent(node.id)}
                />
              )
            );
          })}
        </svg>
      </div>
      {opened === undefined ? (
        <p class="llm4s-hint llm4s-graph-hint">Open a node to hold the turn before or after it.</p>
      ) : (
        <Detail
          key={opened.id}
          desk={desk}
          node={opened}
          folded={drawing.folded.get(opened.id) ?? 0}
          unfolded={unfolded.has(opened.id)}
          prefix={prefix}
          onFold={() => setUnfolded(toggled(unfolded, opened.id))}
          onClose={close}
          onCard={onCard}
        />
      )}
    </section>
  );
}

const ARROWS: Readonly<Record<Direction, true>> = { ArrowUp: true, ArrowDown: true, ArrowLeft: true, ArrowRight: true };

function Zoom({
  zoom,
  onStep,
  onSet,
  onFit,
}: {
  zoom: number;
  onStep: (by: number) => void;
  onSet: (zoom: number) => void;
  onFit: () => void;
}) {
  return (
    <div class="llm4s-zoom" role="group" aria-label="Zoom">
      <button type="button" class="llm4s-button llm4s-small" aria-label="Smaller" onClick={() => onStep(-1)}>
        −
      </button>
      <button
        type="button"
        class="llm4s-button llm4s-small"
        aria-label={`${Math.round(zoom * 100)} %: back to 100 %`}
        onClick={() => onSet(1)}
      >
        {`${Math.round(zoom * 100)} %`}
      </button>
      <button type="button" class="llm4s-button llm4s-small" aria-label="Larger" onClick={() => onStep(1)}>
        +
      </button>
      <button type="button" class="llm4s-button llm4s-small" onClick={onFit}>
        Fit
      </button>
    </div>
  );
}

function toggled(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(id)) next.add(id);
  return next;
}

const clamp = (index: number, length: number) => Math.max(0, Math.min(length - 1, index));

function nearestIndex(zoom: number): number {
  return ZOOMS.reduce((best, value, index) => (Math.abs(value - zoom) < Math.abs((ZOOMS[best] ?? 1) - zoom) ? index : best), 0);
}

function fitting(canvas: HTMLElement | null, layout: Layout): number {
  if (canvas === null || canvas.clientWidth === 0) return 1;
  return Math.max(0.1, Math.min(1, (canvas.clientWidth - 4) / layout.width, (canvas.clientHeight - 4) / layout.height));
}

/**
 * Open on the node that matters, once per topology, and keep it in sight while the turn goes on and the canvas changes its size, until
 * the person has scrolled, and not while they are at a node of it. A view that has no size yet waits until it has.
 */
function useScrollTo(canvas: { current: HTMLElement | null }, layout: Layout, zoom: number, id: string, topology: string): void {
  const placed = useRef({ of: "", left: 0, top: 0 });
  useLayoutEffect(() => {
    const element = canvas.current;
    const box = layout.boxes.get(id);
    if (element === null || box === undefined) return undefined;
    const place = () => {
      if (element.clientWidth === 0) return;
      const was = placed.current;
      if (was.of !== topology) {
        element.scrollLeft = (box.x - layout.left) * zoom - element.clientWidth / 2;
        element.scrollTop = (box.y - layout.top) * zoom - element.clientHeight / 2;
      } else if (
        !element.matches(":focus-within") &&
        stayed(element.scrollLeft, was.left, element.scrollWidth - element.clientWidth) &&
        stayed(element.scrollTop, was.top, element.scrollHeight - element.clientHeight)
      )
        showBox(element, layout, zoom, id);
      else return;
      placed.current = { of: topology, left: element.scrollLeft, top: element.scrollTop };
    };
    place();
    if (typeof ResizeObserver === "undefined") return undefined;
    const observer = new ResizeObserver(place);
    observer.observe(element);
    return () => observer.disconnect();
  }, [topology, layout, id, zoom]);
}

/** Whether nobody has scrolled: a canvas that grew has by itself gone back to the farthest place there is. */
const stayed = (now: number, was: number, farthest: number) => Math.abs(now - Math.min(was, farthest)) < 2;

/** Scroll our own canvas, never the notebook, as little as shows the node. */
function showBox(canvas: HTMLElement | null, layout: Layout, zoom: number, id: string): void {
  const box = layout.boxes.get(id);
  if (canvas === null || box === undefined) return;
  const [x, y] = [box.x - layout.left, box.y - layout.top];
  const [left, right] = [(x - box.width / 2) * zoom - 16, (x + box.width / 2) * zoom + 16];
  const [top, bottom] = [(y - box.height / 2) * zoom - 16, (y + box.height / 2) * zoom + 16];
  if (left < canvas.scrollLeft) canvas.scrollLeft = left;
  else if (right > canvas.scrollLeft + canvas.clientWidth) canvas.scrollLeft = right - canvas.clientWidth;
  if (top < canvas.scrollTop) canvas.scrollTop = top;
  else if (bottom > canvas.scrollTop + canvas.clientHeight) canvas.scrollTop = bottom - canvas.clientHeight;
}
