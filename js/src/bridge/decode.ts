import type { JsonObject, Message } from "../wire/index";

/**
 * Read a custom message from the kernel. Null for anything that is none of the five kinds or lacks a field the browser reads:
 * a message nobody understands changes nothing.
 */
export function decodeMessage(content: unknown): Message | null {
  if (!isObject(content)) return null;
  switch (content.kind) {
    case "done":
      return isText(content.request_id) && isText(content.said) ? (content as Message) : null;
    case "welcome":
      return isText(content.request_id) && isNumber(content.revision) && isObject(content.drafts) && isObject(content.live)
        ? (content as unknown as Message)
        : null;
    case "refused":
      return isText(content.request_id) && isError(content.error) && isProblems(content.problems) ? (content as Message) : null;
    case "drafts":
      return (content.origin === null || isText(content.origin)) && isObject(content.drafts) ? (content as Message) : null;
    case "live":
      return isNumber(content.number) && content.waiting !== undefined && Array.isArray(content.pieces)
        ? (content as unknown as Message)
        : null;
    default:
      return null;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isText = (value: unknown): value is string => typeof value === "string";

const isNumber = (value: unknown) => typeof value === "number";

const isError = (value: unknown) => isObject(value) && [value.type, value.what, value.where, value.next_step].every(isText);

const isProblems = (value: unknown) =>
  Array.isArray(value) &&
  value.every((problem) => isObject(problem) && Array.isArray(problem.path) && isText(problem.message) && isText(problem.code));
