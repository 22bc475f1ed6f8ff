import { expect } from "vitest";
import { Failure } from "../../contract/errors.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { Operation, Step } from "../../engine/model/plan.ts";
import type { Lab, LabNetwork, LabNode } from "../../intent/lab/lab.ts";
import type { HostConsole, Progress } from "../host.ts";

/** Removes the positions that the host gives to resources without one. */
export function placedAs(wanted: Lab, captured: Lab): Lab {
  const placed = <T extends { readonly key: string }>(list: readonly T[], one: { readonly key: string; readonly position?: unknown }) =>
    list.some((other) => other.key === one.key && "position" in other);
  const strip = <T extends LabNode | LabNetwork>(list: readonly T[], one: T): T => {
    const { position: _position, ...rest } = one;
    return placed(list, one) ? one : (rest as T);
  };
  return {
    ...captured,
    nodes: captured.nodes.map((one) => strip(wanted.nodes, one)),
    networks: captured.networks.map((one) => strip(wanted.networks, one)),
  };
}

let count = 0;

/** Returns a step as the power operations make it, outside any plan. */
export function operation(step: Step): Operation {
  const id = `step-${++count}`;
  const key = "node" in step ? (typeof step.node === "string" ? step.node : step.node.key) : "lab";
  const reason = { code: "requested", text: "asked for" } as const;
  return { id, of: id, op: "update", kind: "node", key, reason, disruption: "none", affects: [], changes: [], prune: false, step };
}

/** Stops and starts in turn, so that no driver can batch them. */
export function restarts(times: number): readonly Operation[] {
  return Array.from({ length: times }, (_, i) =>
    operation(i % 2 === 0 ? { do: "stop", node: "h1", mode: 1 } : { do: "start", node: "h1" }),
  );
}

export function progressOf(progress: Partial<Progress> = {}): Progress {
  return { ids: { nodes: {}, networks: {}, links: {} }, step: () => {}, ...progress };
}

/** Returns the parts of a lab that must not change by themselves: everything except power. */
export function persisted(observed: ObservedLab): unknown {
  return { ...observed, nodes: observed.nodes.map(({ power: _power, ...rest }) => rest) };
}

export async function expectFailure(work: Promise<unknown>, code: Failure["code"] | readonly Failure["code"][]): Promise<Failure> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Failure)) throw error ?? new Error(`expected ${String(code)}, and it went well`);
  expect(typeof code === "string" ? [code] : code).toContain(error.code);
  return error;
}

export interface Watched {
  readonly send: (text: string) => void;
  readonly shows: (pattern: RegExp) => Promise<void>;
  readonly ends: () => Promise<void>;
  readonly close: () => void;
}

export function watch({ stream }: HostConsole): Watched {
  let text = "";
  let ended = false;
  stream.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
  });
  for (const event of ["end", "close", "error"]) {
    stream.on(event, () => {
      ended = true;
    });
  }
  const until = async (what: string, met: () => boolean) => {
    const seen = await within(20_000, async () => (met() ? true : undefined));
    if (seen === undefined) throw new Error(`the console does not ${what}; it showed ${JSON.stringify(text.slice(-2000))}`);
  };
  return {
    send: (typed) => stream.write(typed),
    shows: (pattern) => until(`show ${pattern}`, () => pattern.test(text)),
    ends: () => until("end", () => ended),
    close: () => stream.destroy(),
  };
}

/** Polls until there is a result, at most for this time, ms. */
export async function within<T>(time: number, ask: () => Promise<T | undefined>): Promise<T | undefined> {
  const until = performance.now() + time;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined || performance.now() > until) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
