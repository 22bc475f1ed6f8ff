import { createContext } from "preact";
import type { Route } from "../parts/route.ts";

/** The addresses of one capture and of the captures of a lab: pages of their own, or the drawer below the drawing. */
export interface CaptureRoutes {
  readonly one: (capture: string) => Route;
  readonly all: (lab: string) => Route;
}

export const CaptureAddresses = createContext<CaptureRoutes>({
  one: (capture) => ({ page: "capture", capture }),
  all: (lab) => ({ page: "lab", lab, view: "captures" }),
});
