import { useLayoutEffect, useState } from "preact/hooks";

/** The current page: one of the service's paths below /ui. */
export type Route =
  | { readonly page: "labs" }
  | { readonly page: "new" }
  | { readonly page: "host" }
  | LabRoute
  | { readonly page: "capture"; readonly capture: string }
  | { readonly page: "unknown" };

/** The tabs of the lab's page. */
export const labViews = ["topology", "plan", "consoles", "captures", "tests"] as const;
export type LabView = (typeof labViews)[number];

/** The tabs of the drawer below the drawing of a lab. */
export const drawerTabs = ["consoles", "captures", "traffic", "nodes", "links", "log", "jobs", "history"] as const;
export type DrawerTab = (typeof drawerTabs)[number];

export interface LabRoute {
  readonly page: "lab";
  readonly lab: string;
  readonly view: LabView;
  /** Key of the node whose console is shown, or that with /shell. */
  readonly node?: string | undefined;
  /** Whether the text is shown beside the drawing. */
  readonly text?: boolean | undefined;
  /** Whether the drawing shows the packets on the links. */
  readonly traffic?: boolean | undefined;
  /** undefined: the drawer is closed. */
  readonly drawer?: DrawerTab | undefined;
  /** The node or link whose panel is open: the host's id, or "link:" and that of a link. */
  readonly part?: string | undefined;
  /** The capture whose packets are shown. */
  readonly capture?: string | undefined;
}

const base = "/ui";

/** Parses an address. A lab's path contains slashes, so the view is a query parameter: the two cannot collide. */
export function routeOf(pathname: string, search: string): Route {
  const path = pathname.startsWith(base) ? pathname.slice(base.length) : pathname;
  if (path === "" || path === "/") return { page: "labs" };
  if (path === "/new") return { page: "new" };
  if (path === "/host") return { page: "host" };
  const capture = /^\/captures\/([^/]+)$/.exec(path)?.[1];
  if (capture !== undefined) return { page: "capture", capture: decodeURIComponent(capture) };
  const lab = /^\/labs(\/.+)$/.exec(path)?.[1];
  if (lab === undefined) return { page: "unknown" };
  const query = new URLSearchParams(search);
  const drawer = drawerTabs.find((one) => one === query.get("drawer"));
  return {
    page: "lab",
    lab: decodeURIComponent(lab),
    view: labViews.find((one) => one === query.get("view")) ?? "topology",
    node: query.get("node") ?? undefined,
    text: query.get("text") === "1",
    traffic: query.get("traffic") === "1",
    drawer,
    part: query.get("part") ?? undefined,
    capture: drawer === "captures" ? (query.get("capture") ?? undefined) : undefined,
  };
}

export function pathOf(route: Route): string {
  switch (route.page) {
    case "lab": {
      const query = new URLSearchParams({
        ...(route.view !== "topology" && { view: route.view }),
        ...(route.drawer !== undefined && { drawer: route.drawer }),
        ...(route.node !== undefined && { node: route.node }),
        ...(route.text === true && { text: "1" }),
        ...(route.traffic === true && { traffic: "1" }),
        ...(route.part !== undefined && { part: route.part }),
        ...(route.capture !== undefined && { capture: route.capture }),
      }).toString();
      return `${base}/labs${route.lab.split("/").map(encodeURIComponent).join("/")}${query === "" ? "" : `?${query}`}`;
    }
    case "capture":
      return `${base}/captures/${encodeURIComponent(route.capture)}`;
    case "new":
      return `${base}/new`;
    case "host":
      return `${base}/host`;
    default:
      return `${base}/`;
  }
}

/** Returns the address of a lab's page at this moment: a function of an earlier render must not bring back parts of the address of that time. */
export function labRouteNow(lab: string): LabRoute {
  const now = currentRoute();
  return now.page === "lab" && now.lab === lab ? now : { page: "lab", lab, view: "topology" };
}

function currentRoute(): Route {
  return routeOf(location.pathname, location.search);
}

export function goTo(route: Route): void {
  history.pushState(null, "", pathOf(route));
  dispatchEvent(new PopStateEvent("popstate"));
}

/** Changes the address of the current page without a new entry in the history. */
export function replaceRoute(route: Route): void {
  history.replaceState(null, "", pathOf(route));
  dispatchEvent(new PopStateEvent("popstate"));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useLayoutEffect(() => {
    const moved = () => setRoute(currentRoute());
    addEventListener("popstate", moved);
    return () => removeEventListener("popstate", moved);
  }, []);
  return route;
}
