import { isFields, storedJson } from "../service/stored-json.ts";

/** The open consoles of a lab, as this tab of the browser shows them. */
export interface ConsoleLayout {
  /** Keys of the nodes whose consoles are open, in the order of opening. */
  readonly open: readonly string[];
  readonly current: string | undefined;
  /** Side by side; otherwise one at a time. */
  readonly tiles: boolean;
  /** Whether the form to run one command on many nodes is shown instead. */
  readonly broadcast: boolean;
}

export type LayoutEvent =
  | { readonly type: "shown"; readonly node: string }
  | { readonly type: "focused"; readonly node: string }
  | { readonly type: "closed"; readonly node: string }
  | { readonly type: "all-opened"; readonly nodes: readonly string[] }
  | { readonly type: "tiles-chosen"; readonly tiles: boolean }
  | { readonly type: "broadcast-toggled" };

export function layoutReducer(layout: ConsoleLayout, event: LayoutEvent): ConsoleLayout {
  const { open } = layout;
  switch (event.type) {
    case "shown":
      return { ...layout, broadcast: false, open: open.includes(event.node) ? open : [...open, event.node], current: event.node };
    case "focused":
      return layout.current === event.node ? layout : { ...layout, current: event.node };
    case "closed":
      return { ...layout, open: open.filter((one) => one !== event.node) };
    case "all-opened":
      return {
        ...layout,
        broadcast: false,
        open: [...new Set([...open, ...event.nodes])],
        current: event.nodes.at(-1) ?? layout.current,
        tiles: true,
      };
    case "tiles-chosen":
      return { ...layout, broadcast: false, tiles: event.tiles };
    case "broadcast-toggled":
      return { ...layout, broadcast: !layout.broadcast };
  }
}

/** Returns the event that shows the consoles of an address: of one node, or of several that are separated by commas. */
export function addressEvent(address: string): LayoutEvent {
  const nodes = address.split(",");
  return nodes.length === 1 ? { type: "shown", node: address } : { type: "all-opened", nodes };
}

const storageKey = (lab: string) => `labwright-consoles:${lab}`;

/** Reads the layout of this tab from session storage. */
export function readLayout(lab: string): ConsoleLayout {
  const { open, current, tiles } = storedJson(storageKey(lab), isLayout) ?? { open: [], current: undefined, tiles: false };
  return { open, current, tiles, broadcast: false };
}

function isLayout(value: unknown): value is Omit<ConsoleLayout, "broadcast"> {
  if (!isFields(value)) return false;
  const { open, current, tiles } = value;
  const isOpen = Array.isArray(open) && open.every((node) => typeof node === "string");
  return isOpen && (current === undefined || typeof current === "string") && typeof tiles === "boolean";
}

export function storeLayout(lab: string, { open, current, tiles }: ConsoleLayout): void {
  sessionStorage.setItem(storageKey(lab), JSON.stringify({ open, current, tiles }));
}
