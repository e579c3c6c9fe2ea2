import { defineConfig } from "vitest/config";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}", "tests/**/*.test.{ts,tsx}"],
    restoreMocks: true,
    // Only what hangs is to end by the clock: on a busy machine a layout of 200 nodes takes more than the five seconds given otherwise.
    testTimeout: 60_000,
    allowOnly: false,
    passWithNoTests: false,
  },
});
