import { Readable } from "node:stream";
import { KeyedQueue } from "../../base/keyed-queue.ts";
import { Failure } from "../../contract/errors.ts";
import type { BytesAnswer } from "../../contract/operations.ts";
import type {
  CaptureAttachData,
  CaptureData,
  CapturePacketData,
  CapturePacketsData,
  CapturePacketsQuery,
  CapturePayload,
  CaptureRemovedData,
  CaptureStartData,
  CapturesData,
} from "../../contract/schemas/captures.ts";
import { joinIds } from "../../engine/compare/join.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { HostCapture, HostCaptures } from "../../hosts/host-captures.ts";
import { noneKind } from "../../hosts/none/none-host.ts";
import { checkLabPath } from "../../intent/lab/lab-path.ts";
import type { Call, Caller, Upgrade } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { timeText } from "../common/clock.ts";
import { Elsewhere } from "../common/elsewhere.ts";
import { badRequest } from "../common/refusals.ts";
import { addressObserved, addressPath } from "../context/address.ts";
import { allowUse } from "../context/allow.ts";
import { keyedNodes, nodeNotFound } from "../context/chosen-nodes.ts";
import { inKeys } from "../context/in-keys.ts";
import type { ClockPart, EventsPart, FleetPart, IdentitiesPart, LogPart, LookupParts, StreamsPart } from "../context/parts.ts";
import type { Browsers } from "../labs/browsers.ts";
import { quotaExceeded } from "../quotas/admit.ts";
import { countsFor, quotasOf } from "../quotas/quota.ts";
import { reaches, rightOn, seesUnrecorded } from "../sessions/rights.ts";
import { Tickets } from "../sessions/tickets.ts";
import { machineOfId } from "../store/machines.ts";
import { type LabRecord, labsHere } from "../store/store.ts";
import { joinStream } from "../streams/join-stream.ts";
import { CaptureWatch } from "./capture-watch.ts";
import { capturesElsewhere, countOf } from "./count-captures.ts";

/** A lab's captures, as a caller may see them. */
interface CapturedLab {
  readonly path: string;
  readonly host: HostSession;
  readonly captures: HostCaptures;
  readonly record: LabRecord | undefined;
}

type CaptureParts = LookupParts & ClockPart & LogPart & StreamsPart & IdentitiesPart & EventsPart & FleetPart;

/** Packet captures of labs. The right `view` lists them; the right `operate` starts and stops them and reads their packets. */
export class Captures {
  readonly #context: CaptureParts;
  readonly #browsers: Browsers;
  readonly #tickets: Tickets<{ readonly path: string; readonly capture: string }>;
  readonly #watch: CaptureWatch;
  readonly #starts = new KeyedQueue();

  constructor(context: CaptureParts, browsers: Browsers) {
    this.#context = context;
    this.#watch = new CaptureWatch({
      session: (user) => context.sessions.resume(user),
      ended: (lab, capture) => this.#publish(lab, capture),
      log: context.log,
    });
    this.#browsers = browsers;
    this.#tickets = new Tickets(context);
  }

  /** Also watches captures that an earlier run of the service has started. */
  async begin(labs: readonly LabRecord[]): Promise<void> {
    if (this.#context.host.labOfCapture !== undefined) await this.#watch.begin(labs);
  }

  close(): void {
    this.#watch.close();
  }

  async start(caller: Caller, payload: CapturePayload): Promise<CaptureStartData> {
    await this.#supported(caller);
    const { target, observed } = await addressObserved(this.#context, caller, payload, "operate");
    const captures = await capturesOf(target.host);
    const ids = joinIds(target.intent?.lab ?? null, observed, target.ids);
    const nodeId = Object.hasOwn(ids.nodes, payload.node) ? ids.nodes[payload.node] : undefined;
    if (nodeId === undefined) throw nodeNotFound(target.path, payload.node, keyedNodes(observed, ids));
    const fragment = this.#browsers.fragmentFor(caller);
    const { filter, snaplen } = payload;
    const name = observed.nodes.find(({ id }) => id === nodeId)?.name ?? payload.node;
    const owner = target.record?.owner ?? caller.user;
    const start = () =>
      captures.start(target.path, {
        nodeId,
        interface: payload.interface,
        label: `${payload.node}:${payload.interface}`,
        ...(filter !== undefined && filter.trim() !== "" && { filter }),
        ...(snaplen !== undefined && { snaplen }),
      });
    const started = await this.#withinQuotas(caller, owner, start).catch(inKeys({ key: payload.node, node: { name } }));
    this.#publish(target.path, started);
    this.#watch.add(target.path, target.record?.owner ?? caller.user, started.id);
    return {
      capture: started.id,
      node: payload.node,
      interface: payload.interface,
      url: this.#browsers.captureUrl(started.id, fragment),
      started_at: timeText(started.startedAt),
    };
  }

  /** Starts a capture of a lab of `owner`. Throws quota_exceeded. Starts that a quota limits run one after the other, so that none is counted late. */
  async #withinQuotas(caller: Caller, owner: string, start: () => Promise<HostCapture>): Promise<HostCapture> {
    const { store, host } = this.#context;
    const isAdmin = host.accounts?.find(owner)?.role === "admin";
    const quotas = quotasOf(store.quotas.list(), owner, isAdmin).filter(({ captures }) => captures !== undefined);
    if (quotas.length === 0) return start();
    return this.#starts.run("starts", async () => {
      for (const quota of quotas) {
        const counts = countsFor(quota, owner);
        let used = await capturesElsewhere(
          this.#context,
          store.labs.list().filter(({ owner: other }) => counts(other)),
        );
        for (const { path, owner: other } of labsHere(store)) {
          if (!counts(other)) continue;
          const session = await this.#context.sessions.hostSessionFor(caller, other);
          used += await countOf(await capturesOf(session), path);
        }
        const limit = quota.captures ?? 0;
        if (used >= limit) throw quotaExceeded({ quota, resource: "captures", used, wanted: used + 1, limit });
      }
      return start();
    });
  }

  /** Without a lab, lists the captures of all labs that the caller may see. */
  async list(caller: Caller, path: string | undefined): Promise<CapturesData> {
    await this.#supported(caller);
    if (path !== undefined) {
      const checked = checkLabPath(path);
      if ("problem" in checked) throw badRequest("/lab", checked.problem);
      const lab = await this.#lab(caller, checked.path);
      return { captures: (await lab.captures.list(lab.path)).map((one) => this.#data(lab.path, one)) };
    }
    const all: CaptureData[] = [];
    for (const path of await this.#seenBy(caller)) {
      const lab = await this.#lab(caller, path);
      const found = await lab.captures.list(path).catch((error: unknown) => {
        // The service has a record of the lab, but the host does not have the lab any more.
        if (error instanceof Failure && error.code === "lab_not_found") return [];
        throw error;
      });
      all.push(...found.map((one) => this.#data(path, one)));
    }
    return { captures: all };
  }

  /** Returns the paths of the labs that the caller may see: managed labs, and unmanaged labs on the host. */
  async #seenBy(caller: Caller): Promise<readonly string[]> {
    const { host, sessions, store } = this.#context;
    const records = labsHere(store);
    const managed = records.filter((record) => rightOn(record, caller) !== undefined).map(({ path }) => path);
    if (!seesUnrecorded(host, caller)) return managed;
    const recorded = new Set(store.labs.list().map(({ path }) => path));
    const onHost = await (await sessions.hostSession(caller)).labs();
    return [...managed, ...onHost.filter((path) => !recorded.has(path) && reaches(caller, path))];
  }

  async get(caller: Caller, id: string): Promise<CaptureData> {
    const lab = await this.#find(caller, id);
    return this.#data(lab.path, await lab.captures.get(lab.path, id));
  }

  async stop(caller: Caller, id: string): Promise<CaptureData> {
    const lab = await this.#find(caller, id);
    allowUse({ ...lab, caller }, "operate");
    const stopped = await this.#unwatched(caller, lab, id, () => lab.captures.stop(lab.path, id));
    this.#publish(lab.path, stopped);
    return this.#data(lab.path, stopped);
  }

  async remove(caller: Caller, id: string): Promise<CaptureRemovedData> {
    const lab = await this.#find(caller, id);
    allowUse({ ...lab, caller }, "operate");
    const gone = await lab.captures.get(lab.path, id);
    await this.#unwatched(caller, lab, id, () => lab.captures.remove(lab.path, id));
    this.#publish(lab.path, gone, "removed");
    return { capture: id };
  }

  async download(caller: Caller, id: string, { signal }: Call): Promise<BytesAnswer> {
    const lab = await this.#find(caller, id);
    allowUse({ ...lab, caller }, "operate");
    await this.#context.identities.look(lab.path);
    const { label } = await lab.captures.get(lab.path, id);
    const body = this.#untilEnd(caller, lab.path, (ended) => lab.captures.read(lab.path, id, { follow: false, signal: ended }));
    // Runs even if the stream is never read.
    if (signal.aborted) body.destroy();
    else signal.addEventListener("abort", () => body.destroy(), { once: true });
    return {
      mediaType: "application/x-pcapng",
      filename: `${lab.path.slice(1).replaceAll("/", "-")}-${label.replaceAll(/[:/]/g, "-")}.pcapng`,
      body,
    };
  }

  /** Throws bad_request for a wrong display filter. */
  async packets(
    caller: Caller,
    id: string,
    { after = "0", limit = "100", skip = "0", filter = "" }: CapturePacketsQuery,
  ): Promise<CapturePacketsData> {
    const lab = await this.#find(caller, id);
    allowUse({ ...lab, caller }, "operate");
    const most = Number(limit);
    if (most < 1 || most > 1000) throw badRequest("/limit", "1 to 1000 packets at a time");
    const query = { after: Number(after), limit: most, skip: Number(skip), filter };
    return { capture: id, ...(await lab.captures.packets(lab.path, id, query)) };
  }

  async packet(caller: Caller, id: string, number: string): Promise<CapturePacketData> {
    const lab = await this.#find(caller, id);
    allowUse({ ...lab, caller }, "operate");
    return { capture: id, ...(await lab.captures.packet(lab.path, id, Number(number))) };
  }

  /** Issues a one-time ticket for the stream of packets. */
  async attach(caller: Caller, id: string): Promise<CaptureAttachData> {
    const { path, captures, record } = await this.#find(caller, id);
    allowUse({ path, record, caller }, "operate");
    await captures.get(path, id);
    return { capture: id, stream: this.#tickets.issue(caller.session, { path, capture: id }), transport: "host-capture" };
  }

  /** Redeems a ticket. The stream ends with the capture, and with the session or the right to the lab. */
  async stream(caller: Caller, ticket: string, call: Call): Promise<Upgrade> {
    const { path, capture } = this.#tickets.redeem(ticket, caller.session);
    // The right may have been revoked since the ticket was issued.
    // Registered first, so that the stream ends if another lab takes the path from now on.
    await this.#context.identities.look(path);
    const { captures, record } = await this.#lab(caller, path);
    allowUse({ path, record, caller }, "operate");
    await captures.get(path, capture);
    const source = this.#untilEnd(caller, path, (signal) => captures.read(path, capture, { follow: true, signal }));
    const close = () => void source.destroy();
    // The client may have disconnected meanwhile.
    if (call.signal.aborted) close();
    else call.signal.addEventListener("abort", close, { once: true });
    return {
      protocol: "host-capture",
      attach: (connection) => {
        // From now on the end of the connection ends the stream.
        call.signal.removeEventListener("abort", close);
        joinStream(connection, source);
      },
    };
  }

  /** Streams the packets until the session ends or the right to the lab is lost. Then the stream fails, so that a partial file is not taken for a complete one. */
  #untilEnd(caller: Caller, path: string, read: (signal: AbortSignal) => AsyncIterable<Uint8Array>): Readable {
    const ended = new AbortController();
    const source = Readable.from(read(ended.signal), { objectMode: false });
    // A read waits for the next packet: without the signal, closing would wait for it too and keep the connection open.
    const destroy = source._destroy.bind(source);
    source._destroy = (error, done) => {
      ended.abort();
      destroy(error, done);
    };
    const close = () => void source.destroy();
    const forget = [this.#context.sessions.onEnd(caller.session, close), this.#context.streams.add(caller.user, path, close)];
    source.once("close", () => {
      for (const each of forget) each();
    });
    return source;
  }

  /** Runs `end`, which ends or removes the capture, without a report of the capture watch: the caller reports the end itself. */
  async #unwatched<T>(caller: Caller, { path, record }: CapturedLab, id: string, end: () => Promise<T>): Promise<T> {
    const watched = this.#watch.forget(path, id);
    try {
      return await end();
    } catch (error) {
      if (watched) this.#watch.add(path, record?.owner ?? caller.user, id);
      throw error;
    }
  }

  /** Checked before any lab is looked up, so that an unknown id reveals nothing about labs. */
  /** A machine that only answers calls passes those about labs and captures on, and has none itself. */
  async #supported(caller: Caller): Promise<void> {
    if (this.#context.host.kind === noneKind) return;
    await capturesOf(await this.#context.sessions.hostSession(caller));
  }

  /** Throws capture_not_found, also for a capture in a lab that the caller does not see. */
  async #find(caller: Caller, id: string): Promise<CapturedLab> {
    await this.#supported(caller);
    const path = await this.#context.host.labOfCapture?.(id);
    const missing = () => new Failure("capture_not_found", `there is no capture ${id}`);
    const machine = path === undefined ? machineOfId(this.#context.store.shared?.machines, id) : undefined;
    if (machine !== undefined) throw new Elsewhere(machine);
    if (path === undefined || !reaches(caller, path)) throw missing();
    return this.#lab(caller, path).catch((error: unknown) => {
      throw error instanceof Failure && error.code === "lab_not_found" ? missing() : error;
    });
  }

  async #lab(caller: Caller, path: string): Promise<CapturedLab> {
    const { host, record } = await addressPath(this.#context, caller, path);
    return { path, host, captures: await capturesOf(host), record };
  }

  #data(lab: string, capture: HostCapture): CaptureData {
    const { id, label, interface: name, filter, snaplen, startedAt, stoppedAt, status, reason, packets, dropped, expiresAt } = capture;
    return {
      capture: id,
      lab,
      node: splitLabel(label)[0],
      interface: name,
      ...(filter !== undefined && { filter }),
      ...(snaplen !== undefined && { snaplen }),
      url: this.#browsers.captureUrl(id),
      started_at: timeText(startedAt),
      ...(stoppedAt !== undefined && { stopped_at: timeText(stoppedAt) }),
      status,
      ...(reason !== undefined && { reason }),
      ...(packets !== undefined && { packets }),
      ...(dropped !== undefined && { dropped }),
      size_bytes: capture.sizeBytes,
      max_bytes: capture.maxBytes,
      truncated: capture.truncated,
      ...(expiresAt !== undefined && { expires_at: timeText(expiresAt) }),
    };
  }

  #publish(lab: string, { id, label, status, reason }: HostCapture, change: string = status): void {
    const [node, name] = splitLabel(label);
    const data = { capture: id, node, interface: name, status: change, ...(reason !== undefined && { reason }) };
    this.#context.events.publish({ type: "capture", lab, data });
  }
}

function splitLabel(label: string): readonly [string, string] {
  const at = label.indexOf(":");
  return [label.slice(0, at), label.slice(at + 1)];
}

/** Throws unsupported. */
async function capturesOf(host: HostSession): Promise<HostCaptures> {
  if (host.captures === undefined || !(await host.capabilities()).features.capture) throw unsupported("capture");
  return host.captures;
}
