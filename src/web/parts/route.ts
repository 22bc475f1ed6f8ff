import { useEffect, useState } from "preact/hooks";

/** The current page: one of the service's paths below /ui. */
export type Route =
  | { readonly page: "labs" }
  | { readonly page: "new" }
  | { readonly page: "lab"; readonly lab: string; readonly view: LabView; readonly node?: string; readonly text?: boolean }
  | { readonly page: "capture"; readonly capture: string }
  | { readonly page: "unknown" };

/** The tabs of the lab's page. */
export const labViews = ["topology", "plan", "consoles", "captures", "tests"] as const;
export type LabView = (typeof labViews)[number];

const base = "/ui";

/** Parses an address. A lab's path contains slashes, so the view is a query parameter: the two cannot collide. */
export function routeOf(pathname: string, search: string): Route {
  const path = pathname.startsWith(base) ? pathname.slice(base.length) : pathname;
  if (path === "" || path === "/") return { page: "labs" };
  if (path === "/new") return { page: "new" };
  const capture = /^\/captures\/([^/]+)$/.exec(path)?.[1];
  if (capture !== undefined) return { page: "capture", capture: decodeURIComponent(capture) };
  const lab = /^\/labs(\/.+)$/.exec(path)?.[1];
  if (lab === undefined) return { page: "unknown" };
  const query = new URLSearchParams(search);
  const view = labViews.find((one) => one === query.get("view")) ?? "topology";
  const node = query.get("node");
  return {
    page: "lab",
    lab: decodeURIComponent(lab),
    view,
    ...(node !== null && { node }),
    ...(query.get("text") === "1" && { text: true }),
  };
}

export function pathOf(route: Route): string {
  switch (route.page) {
    case "lab": {
      const query = new URLSearchParams({
        ...(route.view !== "topology" && { view: route.view }),
        ...(route.node !== undefined && { node: route.node }),
        ...(route.text === true && { text: "1" }),
      }).toString();
      return `${base}/labs${route.lab.split("/").map(encodeURIComponent).join("/")}${query === "" ? "" : `?${query}`}`;
    }
    case "capture":
      return `${base}/captures/${encodeURIComponent(route.capture)}`;
    case "new":
      return `${base}/new`;
    default:
      return `${base}/`;
  }
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
  const now = () => routeOf(location.pathname, location.search);
  const [route, setRoute] = useState(now);
  useEffect(() => {
    const moved = () => setRoute(now());
    addEventListener("popstate", moved);
    return () => removeEventListener("popstate", moved);
  }, []);
  return route;
}
