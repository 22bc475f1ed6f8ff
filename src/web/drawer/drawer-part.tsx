import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { DrawerTab } from "../parts/route.ts";

interface DrawerPartProps {
  readonly tab: DrawerTab;
  readonly open: DrawerTab | undefined;
  /** Whether it stays, hidden, when another tab is opened: a shell would end otherwise. */
  readonly stays?: boolean;
  readonly children: ComponentChildren;
}

/** The contents of one tab. They are created when the tab is opened first. */
export function DrawerPart({ tab, open, stays = false, children }: DrawerPartProps) {
  const isOpen = tab === open;
  const [wasOpen, setWasOpen] = useState(isOpen);
  if (isOpen && !wasOpen) setWasOpen(true);
  if (!isOpen && !(stays && wasOpen)) return null;
  return (
    <div id={`drawer-${tab}`} class={`drawer-part of-${tab}`} role="tabpanel" aria-labelledby={`drawer-tab-${tab}`} hidden={!isOpen}>
      {children}
    </div>
  );
}
