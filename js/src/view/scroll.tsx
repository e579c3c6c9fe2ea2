import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface ScrollProps {
  class: string;
  label: string;
  /** Stay at the end while what it holds grows, for as long as the person is there. */
  follow?: boolean;
  children: ComponentChildren;
}

/** How far from its end, in pixels, a box still counts as scrolled there. */
const NEAR = 12;

/** A box that scrolls in itself when what it holds is long; then, and only then, the keyboard reaches it. */
export function Scroll({ class: look, label, follow = false, children }: ScrollProps) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const [scrolls, setScrolls] = useState(false);
  const measure = () => {
    const element = box.current;
    if (element !== null) setScrolls(element.scrollHeight > element.clientHeight + 1 || element.scrollWidth > element.clientWidth + 1);
  };
  useLayoutEffect(() => {
    measure();
    if (follow && atEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  });
  useLayoutEffect(() => {
    if (box.current === null || typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return (
    <div
      class={look}
      ref={box}
      role="group"
      aria-label={label}
      tabIndex={scrolls ? 0 : undefined}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < NEAR;
      }}
    >
      {children}
    </div>
  );
}
