import type { ComponentChildren } from "preact";
import type { DrawerTab } from "../parts/route.ts";
import { minHeight } from "./drawer-size.ts";
import { useDrawerSize } from "./use-drawer-size.ts";
import "./drawer.css";

interface DrawerProps {
  /** Tabs that are offered, with their titles. */
  readonly tabs: readonly (readonly [DrawerTab, string])[];
  /** The open tab; undefined: the drawer is closed, and only its tabs are shown. */
  readonly open: DrawerTab | undefined;
  readonly onOpen: (tab: DrawerTab | undefined) => void;
  /** The parts of the drawer; hidden ones may stay in it. */
  readonly children: ComponentChildren;
}

/** The drawer below the drawing: its upper edge changes its height, and its tabs open and close it. */
export function Drawer({ tabs, open, onOpen, children }: DrawerProps) {
  const { size, element, toggleMaximised, onPointerDown, onKeyDown } = useDrawerSize();
  return (
    <div
      ref={element}
      class={`drawer${open === undefined ? " closed" : ""}${size.isMaximised ? " maximised" : ""}`}
      style={{ "--drawer-height": `${size.height}px` }}
    >
      {open !== undefined && (
        // biome-ignore lint/a11y/useSemanticElements: a splitter, which hr is not
        <div
          class="drawer-edge"
          role="separator"
          tabIndex={0}
          aria-orientation="horizontal"
          aria-label="Height of the drawer"
          aria-valuenow={size.height}
          aria-valuemin={minHeight}
          onPointerDown={onPointerDown}
          onKeyDown={onKeyDown}
        />
      )}
      <div class="drawer-bar">
        <div role="tablist" aria-label="Drawer" class="drawer-tabs" onKeyDown={moveFocus}>
          {tabs.map(([tab, title]) => (
            <button
              key={tab}
              type="button"
              role="tab"
              id={`drawer-tab-${tab}`}
              aria-selected={tab === open}
              aria-controls={tab === open ? `drawer-${tab}` : undefined}
              tabIndex={tab === (open ?? tabs[0]![0]) ? 0 : -1}
              onClick={() => onOpen(tab === open ? undefined : tab)}
            >
              {title}
            </button>
          ))}
        </div>
        {open !== undefined && (
          <>
            <button type="button" class="drawer-button" onClick={toggleMaximised}>
              {size.isMaximised ? "Restore size" : "Maximise"}
            </button>
            <button type="button" class="drawer-button" onClick={() => onOpen(undefined)} aria-label="Close the drawer">
              ×
            </button>
          </>
        )}
      </div>
      <div class="drawer-parts" hidden={open === undefined}>
        {children}
      </div>
    </div>
  );
}

/** Moves the focus to another tab. It is opened by Enter or Space: a console would take the focus from the tabs. */
function moveFocus(event: KeyboardEvent): void {
  const tabs = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>("[role=tab]")];
  const at = tabs.indexOf(event.target as HTMLElement);
  const steps: Readonly<Record<string, number>> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 };
  const next = steps[event.key];
  if (at < 0 || next === undefined) return;
  event.preventDefault();
  tabs.at(next % tabs.length)?.focus();
}
