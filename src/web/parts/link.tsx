import type { ComponentChildren } from "preact";
import { goTo, pathOf, type Route } from "./route.ts";

/** A link between pages: navigates without a reload, and has an address that a new tab can open. */
export function Link({ to, children, ...rest }: { readonly to: Route; readonly children: ComponentChildren; readonly class?: string }) {
  return (
    <a
      href={pathOf(to)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        goTo(to);
      }}
      {...rest}
    >
      {children}
    </a>
  );
}
