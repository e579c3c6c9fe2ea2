import type { LiveView, Pieces } from "../wire/index";

/** What is being written, continued by what came since: each text grows at its end (W4.7). */
export function continued(live: LiveView, { number, waiting, pieces }: Pieces): LiveView {
  const messages = live.messages.map((message) => {
    const piece = pieces.find((one) => one.id === message.id);
    if (piece === undefined) return message;
    const tool_calls = message.tool_calls.map((call, at) => ({ ...call, arguments: `${call.arguments}${piece.arguments[at] ?? ""}` }));
    return { ...message, note: piece.note, text: message.text + piece.text, tool_calls };
  });
  return { number, waiting, messages };
}
