import { useState } from "preact/hooks";
import type { InspectedLink } from "../../../contract/schemas/observe.ts";
import type { CaptureRoutes } from "../../captures/capture-routes.ts";
import { goTo } from "../../parts/route.ts";
import { useFeature } from "../../parts/use-feature.ts";
import { call } from "../../service/api.ts";

export interface LinkActions {
  readonly error: unknown;
  readonly suspend: (link: InspectedLink) => void;
  /** Starts a capture of an interface of the link, and shows its packets; undefined: the host cannot capture. */
  readonly capture: ((link: InspectedLink) => void) | undefined;
}

/** The actions of the menu of a link. @param onChanged called after a change of a link */
export function useLinkActions(lab: string, addresses: CaptureRoutes, onChanged: () => void): LinkActions {
  const [error, setError] = useState<unknown>();
  const hasCaptures = useFeature("capture").data === true;
  const act = async (work: () => Promise<unknown>) => {
    setError(undefined);
    try {
      await work();
    } catch (problem) {
      setError(problem);
    }
  };
  const suspend = async ({ endpoints: [a = "", b = ""], suspended }: InspectedLink) => {
    await call("setLinkSuspend", { lab, endpoints: [a, b], suspended: !suspended });
    onChanged();
  };
  const capture = async ({ endpoints }: InspectedLink) => {
    const [node = "", port = ""] = (endpoints.find((end) => end.includes(":")) ?? "").split(":");
    goTo(addresses.one((await call("startCapture", { lab, node, interface: port })).capture));
  };
  return {
    error,
    suspend: (link) => void act(() => suspend(link)),
    capture: hasCaptures ? (link) => void act(() => capture(link)) : undefined,
  };
}
