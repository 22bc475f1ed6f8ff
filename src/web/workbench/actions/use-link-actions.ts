import { useMemo, useState } from "preact/hooks";
import type { InspectedLink, LinkQuality } from "../../../contract/schemas/observe.ts";
import type { CaptureRoutes } from "../../captures/capture-routes.ts";
import { useRunningCaptures } from "../../captures/use-running-captures.ts";
import { goTo } from "../../parts/route.ts";
import { useFeature } from "../../parts/use-feature.ts";
import { call } from "../../service/api.ts";
import { runForEach } from "./each-failure.ts";

export interface LinkActions {
  readonly error: unknown;
  readonly suspend: (link: InspectedLink) => void;
  /** Keys of the links that are captured now. */
  readonly captured: ReadonlySet<string>;
  /** Shows the packets of a link: of its running capture, or of one that is started; undefined: the host cannot capture. */
  readonly capture: ((link: InspectedLink) => void) | undefined;
  /** Starts a capture of one interface, and shows its packets; undefined as for `capture`. */
  readonly capturePort: ((node: string, port: string) => void) | undefined;
  /** Starts captures of several links, and shows the list of captures; undefined as for `capture`. */
  readonly captureAll: ((links: readonly InspectedLink[]) => void) | undefined;
  readonly suspendAll: (links: readonly InspectedLink[], suspended: boolean) => void;
  /** Sets the quality of both directions of each link; undefined removes all impairments. */
  readonly impairAll: (links: readonly InspectedLink[], quality: LinkQuality | undefined) => void;
}

interface LinkActionsInput {
  readonly lab: string;
  readonly links: readonly InspectedLink[];
  readonly addresses: CaptureRoutes;
  /** Called after a change of a link. */
  readonly onChanged: () => void;
}

/** The actions of the menu of a link. */
export function useLinkActions({ lab, links, addresses, onChanged }: LinkActionsInput): LinkActions {
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
  const running = useRunningCaptures(lab);
  const captureOf = ({ endpoints }: InspectedLink) => endpoints.flatMap((end) => running.get(end) ?? [])[0];
  const captured = useMemo(() => new Set(links.flatMap((link) => (captureOf(link) === undefined ? [] : [link.key]))), [links, running]);
  const capture = async (link: InspectedLink) => {
    const { endpoints } = link;
    const known = captureOf(link);
    if (known !== undefined) return goTo(addresses.one(known));
    const [node = "", port = ""] = (endpoints.find((end) => end.includes(":")) ?? "").split(":");
    await capturePort(node, port);
  };
  /** The links are read again also if some of them were refused. */
  const changeAll = async (what: string, chosen: readonly InspectedLink[], work: (endpoints: [string, string]) => Promise<unknown>) => {
    const workOf = ({ endpoints: [a = "", b = ""] }: InspectedLink) => work([a, b]);
    await runForEach(what, chosen, { nameOf: ({ key }) => key, work: workOf }).finally(onChanged);
  };
  const captureAll = async (chosen: readonly InspectedLink[]) => {
    const missing = chosen.filter((link) => captureOf(link) === undefined);
    const start = ({ endpoints }: InspectedLink) => {
      const [node = "", port = ""] = (endpoints.find((end) => end.includes(":")) ?? "").split(":");
      return call("startCapture", { lab, node, interface: port });
    };
    await runForEach("captures were not started", missing, { nameOf: ({ key }) => key, work: start }).finally(() =>
      goTo(addresses.all(lab)),
    );
  };
  const capturePort = async (node: string, port: string) => {
    goTo(addresses.one((await call("startCapture", { lab, node, interface: port })).capture));
  };
  return {
    error,
    captured,
    suspend: (link) => void act(() => suspend(link)),
    suspendAll: (chosen, suspended) =>
      void act(() =>
        changeAll(`links were not ${suspended ? "suspended" : "resumed"}`, chosen, (endpoints) =>
          call("setLinkSuspend", { lab, endpoints, suspended }),
        ),
      ),
    impairAll: (chosen, quality) =>
      void act(() =>
        changeAll("links were not changed", chosen, (endpoints) =>
          call("applyLinkQuality", { lab, endpoints, ...(quality !== undefined && { a: quality, b: quality }) }),
        ),
      ),
    captureAll: hasCaptures ? (chosen) => void act(() => captureAll(chosen)) : undefined,
    capturePort: hasCaptures ? (node, port) => void act(() => capturePort(node, port)) : undefined,
    capture: hasCaptures ? (link) => void act(() => capture(link)) : undefined,
  };
}
