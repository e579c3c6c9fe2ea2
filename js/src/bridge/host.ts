import type { AnyModel } from "@anywidget/types";

type Slot<T> = (sender: unknown, value: T) => void;
interface Emitter<T> {
  connect(slot: Slot<T>): unknown;
  disconnect(slot: Slot<T>): unknown;
}

/** What JupyterLab's widget manager has and other hosts may lack. */
interface LabKernel {
  status?: string;
  statusChanged?: Emitter<unknown>;
  iopubMessage?: Emitter<LabMessage>;
}

interface LabMessage {
  header?: { msg_type?: string };
  parent_header?: { msg_type?: string; msg_id?: string };
  content?: { execution_state?: string };
}

export interface Host {
  busy(): boolean;
  onRestart(callback: () => void): () => void;
  dispose(): void;
}

/**
 * What the page knows of the kernel, beside what the kernel says: whether a cell runs, and that it was restarted. The kernel's own status
 * does not tell the first: a message handled beside a running cell sets it to idle. So the cells are followed one by one.
 */
export function hostOf(model: Pick<AnyModel, "widget_manager">): Host {
  const kernel = kernelBehind(model);
  const cells = new Set<string>();
  /** A cell that was running when this view came; its id is not known. */
  let before = kernel?.status === "busy";
  const restarts = new Set<() => void>();
  const onMessage: Slot<LabMessage> = (_, message) => {
    const { header, parent_header: parent, content } = message;
    if (header?.msg_type !== "status" || parent?.msg_type !== "execute_request" || parent.msg_id === undefined) return;
    if (content?.execution_state === "busy") cells.add(parent.msg_id);
    else if (content?.execution_state === "idle" && !cells.delete(parent.msg_id)) before = false;
  };
  const onStatus: Slot<unknown> = (_, status) => {
    if (typeof status !== "string" || !GONE.includes(status)) return;
    cells.clear();
    before = false;
    for (const callback of restarts) callback();
  };
  kernel?.iopubMessage?.connect(onMessage);
  kernel?.statusChanged?.connect(onStatus);
  return {
    busy: () => before || cells.size > 0,
    onRestart: (callback) => {
      restarts.add(callback);
      return () => restarts.delete(callback);
    },
    dispose: () => {
      kernel?.iopubMessage?.disconnect(onMessage);
      kernel?.statusChanged?.disconnect(onStatus);
    },
  };
}

const GONE = ["restarting", "autorestarting", "terminating", "dead"];

function kernelBehind(model: Pick<AnyModel, "widget_manager">): LabKernel | undefined {
  try {
    return (model.widget_manager as unknown as { kernel?: LabKernel } | undefined)?.kernel ?? undefined;
  } catch {
    return undefined;
  }
}
