/** A fresh id of 128 random bits. `crypto.randomUUID` is missing on pages served without TLS, `getRandomValues` is not. */
export function freshId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
