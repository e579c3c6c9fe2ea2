/** The shapes kernel and browser exchange: generated types under the names the rest of the code uses, and JSON itself. */
export type {
  AnsweredView,
  EdgeView,
  ErrorView,
  GraphPicture,
  GuardrailRefusal,
  LiveView,
  MessageView,
  NodeView,
  PendingCard,
  Pieces,
  Problem,
  RunView,
  SessionState,
  StorageView,
  ToolCallView,
  UsageView,
} from "./wire";

import type { components, Pieces } from "./wire";

type Schemas = components["schemas"];

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

export type Done = Schemas["Done"];
export type Welcome = Omit<Schemas["Welcome"], "drafts"> & { drafts: JsonObject };
export type Refusal = Schemas["Refusal"];
export type Drafts = Omit<Schemas["Drafts"], "drafts"> & { drafts: JsonObject };
export type Reply = Done | Welcome | Refusal;
export type Message = Reply | Drafts | Pieces;

export type Decision = Schemas["Submit"]["decisions"][number];
export type RequestBody = Schemas["Request"]["body"];
export type Request = { request_id: string; body: RequestBody };
export type WayOn = Schemas["GoOn"]["way"];
export type Phase = "BEFORE" | "AFTER";
export type Options = { read_only: boolean; view: "console" | "panel" | "graph" | "transcript" };
