import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { CapturePacketDetails, CapturePacketRow, CapturePackets, CapturePacketsQuery, PacketTreeNode } from "../../host-captures.ts";
import { ringFilesIn } from "./capture-record.ts";
import { readCapture } from "./read-capture.ts";
import { copyForDecoder, makeDecoderDirectory, Sharkd, SharkdRefusal } from "./sharkd.ts";

/** A capture that is looked at closely: a copy of its packets, and the sharkd that has read it. */
interface View {
  readonly directory: string;
  readonly sharkd: Sharkd;
  /** What of the capture is in the copy. */
  mark: string;
  /** The oldest file of the ring that is in the copy. */
  oldest: number;
  readAt: number;
  readMs: number;
  usedAt: number;
  copies: number;
}

const mostViews = 4;
const idleMs = 60_000;
/** A capture that runs is read anew at most so often, and the rarer the longer that takes. */
const freshMs = 1_000;

/** The views of the host's captures: one sharkd for each that was looked at in the last minute. */
export class CaptureViews {
  readonly #views = new Map<string, View>();
  readonly #state: string;
  #turn: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param state the state directory, where the captures are: of it a decoder sees its own packets only */
  constructor(state: string) {
    this.#state = state;
  }

  /** @param directory of the capture. Throws bad_request for a wrong display filter. */
  packets(directory: string, { after, limit, filter, skip = 0 }: CapturePacketsQuery): Promise<CapturePackets> {
    return this.#with(directory, async (view) => {
      const shown = filter.trim() === "" ? undefined : filter;
      // Alone first: a filter that closes the bracket around it is none.
      if (shown !== undefined) await checkFilter(view.sharkd, shown);
      const { frames } = (await view.sharkd.request("status")) as { readonly frames: number };
      const matching = shown === undefined ? frames : await countOf(view.sharkd, shown);
      // Without a filter numbers are places in the list, so that nothing need be decoded to leave packets out.
      const left = shown === undefined ? skip + after : skip;
      const params = {
        ...(left > 0 && { skip: left }),
        ...(shown !== undefined && { filter: after === 0 ? shown : `(${shown}) && frame.number > ${after}` }),
      };
      const rows = (await view.sharkd.request("frames", { limit, ...params })) as readonly {
        readonly num: number;
        readonly c: readonly string[];
      }[];
      return { view: String(view.oldest), total: frames, matching, packets: rows.map(rowOf) };
    });
  }

  /** Throws bad_request where there is no packet of this number. */
  packet(directory: string, number: number): Promise<CapturePacketDetails> {
    return this.#with(directory, async (view) => {
      const { frames } = (await view.sharkd.request("status")) as { readonly frames: number };
      if (number > frames) throw wrong("/number", `the capture has ${frames} packets`);
      const told = (await view.sharkd.request("frame", { frame: number, proto: true, bytes: true })) as {
        readonly tree: readonly SharkdNode[];
        readonly bytes?: string;
        readonly ds?: readonly { readonly name: string; readonly bytes?: string }[];
      };
      return {
        number,
        view: String(view.oldest),
        bytes: hexOf(told.bytes),
        ...(told.ds !== undefined && { sources: told.ds.map(({ name, bytes }) => ({ name, bytes: hexOf(bytes) })) }),
        tree: told.tree.map(nodeOf),
      };
    });
  }

  /** Of a capture that is removed. */
  async forget(directory: string): Promise<void> {
    await this.#inTurn(() => this.#drop(directory));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#inTurn(async () => {
      for (const directory of [...this.#views.keys()]) await this.#drop(directory);
    });
  }

  #with<T>(directory: string, work: (view: View) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      if (this.#closed) throw new Failure("host_error", "the host is being closed");
      const view = await this.#fresh(directory);
      try {
        return await work(view);
      } catch (error) {
        if (view.sharkd.ended) await this.#drop(directory);
        throw error;
      }
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #fresh(directory: string): Promise<View> {
    const files = await ringFilesIn(directory);
    const mark = files.map(({ sequence, bytes }) => `${sequence}:${bytes}`).join(" ");
    const known = this.#views.get(directory);
    const now = Date.now();
    if (known !== undefined && !known.sharkd.ended) {
      known.usedAt = now;
      if (known.mark === mark || now - known.readAt < Math.max(freshMs, known.readMs * 4)) return known;
    }
    const view = known !== undefined && !known.sharkd.ended ? known : await this.#open(directory);
    const started = Date.now();
    const name = `capture-${++view.copies}.pcapng`;
    await copyForDecoder(join(view.directory, name), readCapture({ directory, state: stopped }, false));
    await view.sharkd.request("load", { file: name });
    await rm(join(view.directory, `capture-${view.copies - 1}.pcapng`), { force: true });
    Object.assign(view, { mark, oldest: files[0]?.sequence ?? 1, readAt: Date.now(), readMs: Date.now() - started, usedAt: Date.now() });
    return view;
  }

  async #open(directory: string): Promise<View> {
    await this.#drop(directory);
    const oldest = [...this.#views].sort(([, a], [, b]) => a.usedAt - b.usedAt)[0];
    if (this.#views.size >= mostViews && oldest !== undefined) await this.#drop(oldest[0]);
    const own = join(directory, "view");
    await makeDecoderDirectory(own);
    const view: View = {
      directory: own,
      sharkd: new Sharkd(own, this.#state),
      mark: "",
      oldest: 1,
      readAt: 0,
      readMs: 0,
      usedAt: Date.now(),
      copies: 0,
    };
    this.#views.set(directory, view);
    this.#timer ??= setInterval(() => void this.#inTurn(() => this.#dropIdle()), idleMs / 4).unref();
    return view;
  }

  async #dropIdle(): Promise<void> {
    const since = Date.now() - idleMs;
    for (const [directory, { usedAt }] of [...this.#views]) if (usedAt < since) await this.#drop(directory);
    if (this.#views.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Also what an earlier run of the service left. */
  async #drop(directory: string): Promise<void> {
    this.#views.get(directory)?.sharkd.close();
    this.#views.delete(directory);
    await rm(join(directory, "view"), { recursive: true, force: true });
  }
}

async function checkFilter(sharkd: Sharkd, filter: string): Promise<void> {
  await sharkd.request("check", { filter }).catch((error: unknown) => {
    throw error instanceof SharkdRefusal ? wrong("/filter", error.message) : error;
  });
}

/** How many packets of the whole capture a filter takes. */
async function countOf(sharkd: Sharkd, filter: string): Promise<number> {
  const { frames } = (await sharkd.request("intervals", { filter, interval: 2 ** 31 - 1 })) as { readonly frames: number };
  return frames;
}

function hexOf(base64 = ""): string {
  return Buffer.from(base64, "base64").toString("hex");
}

/** A copy is of what is there: how the capture goes on does not matter. */
async function stopped(): Promise<never> {
  throw new Error("a copy does not ask");
}

function rowOf({ num, c }: { readonly num: number; readonly c: readonly string[] }): CapturePacketRow {
  const [time = "", from = "", to = "", protocols = "", length = "", summary = ""] = c;
  return {
    number: num,
    at: timeOf(time),
    from,
    to,
    protocols: protocols.split(":").filter((name) => name !== "" && name !== "ethertype"),
    length: Number(length),
    summary,
  };
}

/** Seconds with nine decimals → RFC 3339 with microseconds. */
function timeOf(epoch: string): string {
  const [seconds = "0", fraction = ""] = epoch.split(".");
  const text = new Date(Number(seconds) * 1000).toISOString();
  return `${text.slice(0, -5)}.${fraction.padEnd(6, "0").slice(0, 6)}Z`;
}

interface SharkdNode {
  readonly l: string;
  readonly f?: string;
  readonly h?: readonly [number, number];
  /** Which bytes h speaks of: 0 those of the packet, n those of the nth data source. */
  readonly ds?: number;
  readonly s?: string;
  readonly n?: readonly SharkdNode[];
}

function nodeOf({ l, f, h, ds, s, n }: SharkdNode): PacketTreeNode {
  return {
    label: l,
    ...(f !== undefined && { filter: f }),
    ...(h !== undefined && { offset: h[0], length: h[1] }),
    ...(h !== undefined && ds !== undefined && ds > 0 && { source: ds - 1 }),
    ...(s !== undefined && { severity: s }),
    ...(n !== undefined && { children: n.map(nodeOf) }),
  };
}

function wrong(path: string, message: string): Failure {
  return new Failure("bad_request", `${path.slice(1)}: ${message}`, { data: { problems: [{ path, message }] } });
}
