/** Relative luminance of an sRGB colour as browsers write it; null where nothing is painted. */
export function luminance(colour: string): number | null {
  const numbers = colour.match(/[\d.]+/g)?.map(Number) ?? [];
  const [red, green, blue, alpha = 1] = numbers;
  if (!/^rgba?\(/.test(colour) || red === undefined || green === undefined || blue === undefined || alpha < 0.5) return null;
  const linear = (value: number) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

/** The element around another, across the border of a shadow root. */
function around(element: Element): Element | null {
  if (element.parentElement !== null) return element.parentElement;
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}

/** Is the page dark where this element stands? Decided by what is painted behind it; a page that paints nothing is light. */
function isDark(element: Element): boolean {
  for (let here = around(element); here !== null; here = around(here)) {
    const found = luminance(getComputedStyle(here).backgroundColor);
    if (found !== null) return found < 0.3;
  }
  return false;
}

/** Keep the root's theme in step with the page. Returns what stops it. */
export function followTheme(root: HTMLElement): () => void {
  const update = () => {
    root.dataset.llm4sTheme = isDark(root) ? "dark" : "light";
  };
  let frame = 0;
  const later = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(update);
  };
  update();
  later();
  const observer = new MutationObserver(later);
  for (const element of [document.documentElement, document.body]) observer.observe(element, { attributes: true });
  observer.observe(document.head, { childList: true });
  const scheme = window.matchMedia?.("(prefers-color-scheme: dark)");
  scheme?.addEventListener?.("change", later);
  // A stylesheet swapped in the head paints when it has loaded.
  document.head.addEventListener("load", later, true);
  return () => {
    cancelAnimationFrame(frame);
    observer.disconnect();
    scheme?.removeEventListener?.("change", later);
    document.head.removeEventListener("load", later, true);
  };
}
