import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Json } from "../../wire/index";
import { type Maybe, type Path, parseJson, pathKey } from "../json";
import { check, type Fault } from "./check";
import type { Schema } from "./schema";

/** Text that a person typed and that is no value yet, with what is wrong with it. It stays on screen and stops a submit. */
export interface Unread {
  readonly text: string;
  readonly message: string;
}

export type Unreads = Readonly<Record<string, Unread>>;

/** Stands beside a null for a value that must be there and is not yet: an item just added, a place of a tuple. */
export const MISSING: Unread = { text: "", message: "Required." };
export const isMissing = (unread: Unread | undefined) => unread !== undefined && unread.text === "" && unread.message === MISSING.message;

/** What all fields of one form share. */
export interface FormScope {
  readonly root: Schema;
  readonly value: Maybe;
  readonly unread: Unreads;
  readonly prefix: string;
  readonly disabled: boolean;
  /** What is wrong at a place; with `below`, also deeper in it, where no field of its own can say so. */
  faultsAt(path: Path, below?: boolean): readonly string[];
  /** The value at a place; undefined where none is given yet. */
  valueAt(path: Path): Maybe;
  /** Put a value (undefined: take it out) or a text that is none at a place; what was typed below it is gone. */
  edit(path: Path, value: Maybe): void;
  hold(path: Path, unread: Unread): void;
  /** Begin a value of this schema at a place. */
  start(path: Path, schema: Schema): void;
  removeItem(path: Path, index: number): void;
  touch(path: Path): void;
  /** Put the focus on the control at a place (or the first one in it) once it is drawn: what had it may be gone. */
  focus(path: Path): void;
}

const Scope = createContext<FormScope | null>(null);
export const ScopeProvider = Scope.Provider;

export function useForm(): FormScope {
  const scope = useContext(Scope);
  if (scope === null) throw new Error("a field outside a form");
  return scope;
}

/** An id that is unique in the page for a place in this form. */
export const fieldId = (scope: FormScope, path: Path, part = "") => `${scope.prefix}${encodeURIComponent(pathKey(path))}${part}`;

/** Everything that keeps a form from being sent: what the schema says and what cannot be read. */
export function faultsOf(schema: Schema, value: Maybe, unread: Unreads): Fault[] {
  const texts = Object.entries(unread).map(([key, { message }]) => ({ path: readKey(key), message }));
  const covered = new Set(Object.keys(unread));
  return [...texts, ...check(schema, schema, value).filter((fault) => !covered.has(pathKey(fault.path)))];
}

/** The unread texts that stay when the value at `path` is replaced. */
export function withoutBelow(unread: Unreads, path: Path): Unreads {
  const kept = Object.entries(unread).filter(([key]) => {
    const own = readKey(key);
    return !path.every((step, index) => own[index] === step);
  });
  return kept.length === Object.keys(unread).length ? unread : Object.fromEntries(kept);
}

/** The unread texts of a list after one of its items has gone. */
export function withoutItem(unread: Unreads, list: Path, index: number): Unreads {
  const moved = Object.entries(unread).flatMap(([key, entry]): [string, Unread][] => {
    const own = [...readKey(key)];
    const at = own[list.length];
    if (typeof at !== "number" || at < index || !list.every((step, place) => own[place] === step)) return [[key, entry]];
    if (at === index) return [];
    own[list.length] = at - 1;
    return [[pathKey(own), entry]];
  });
  return Object.fromEntries(moved);
}

function readKey(key: string): Path {
  const parsed = parseJson(key);
  return parsed.ok && Array.isArray(parsed.value) ? (parsed.value as (string | number)[]) : [];
}

/** A draft's texts, whatever another view or version wrote there. */
export function readUnreads(value: Json | undefined): Unreads {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  const texts = Object.entries(value).flatMap(([key, entry]): [string, Unread][] =>
    typeof entry === "object" &&
    entry !== null &&
    !Array.isArray(entry) &&
    typeof entry.text === "string" &&
    typeof entry.message === "string"
      ? [[key, { text: entry.text, message: entry.message }]]
      : [],
  );
  return Object.fromEntries(texts);
}
