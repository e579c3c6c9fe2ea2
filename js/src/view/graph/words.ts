import type { NodeView } from "../../wire/index";
import { oneLine } from "../unseen";

/** A sign for each status, drawn in a square of 10, so that colour is never the only difference. */
export const SIGNS: Readonly<Record<NodeView["status"], string>> = {
  idle: "",
  running: "M1,0L10,5L1,10z",
  held: "M1,0H4V10H1zM6,0H9V10H6z",
  done: "M0,5.5L1.6,3.9L3.8,6.1L8.6,1L10,2.5L3.8,9z",
  failed: "M1.5,0L5,3.5L8.5,0L10,1.5L6.5,5L10,8.5L8.5,10L5,6.5L1.5,10L0,8.5L3.5,5L0,1.5z",
};

export const STATUS_WORDS: Readonly<Record<NodeView["status"], string>> = {
  idle: "not run yet",
  running: "running",
  held: "held",
  done: "done",
  failed: "failed",
};

/** A node as a screen reader says it: name, status, what waits, and its breakpoints. */
export function nodeName(node: NodeView, folded: number): string {
  const id = oneLine(node.id);
  const parts = [node.label === node.id ? id : `${oneLine(node.label)} (${id})`, STATUS_WORDS[node.status]];
  if (node.held > 0) parts.push(`${node.held} held`);
  if (node.waiting > 0) parts.push(`${node.waiting} waiting for an answer`);
  if (node.hold_before !== "off") parts.push(`holds before${node.hold_before === "fixed" ? ", fixed" : ""}`);
  if (node.hold_after !== "off") parts.push(`holds after${node.hold_after === "fixed" ? ", fixed" : ""}`);
  if (folded > 0) parts.push(`${folded} review ${folded === 1 ? "step" : "steps"}`);
  return parts.join(", ");
}
