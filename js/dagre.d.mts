import type { Plugin } from "esbuild";

export const flatDagre: Plugin;
