import { Failure } from "../../../contract/errors.ts";
import type { CapturePacketDetails, CapturePacketRow, CapturePackets, CapturePacketsQuery, PacketTreeNode } from "../../host-captures.ts";
import { controlCharacter } from "../capture/control-character.ts";
import type { Decoders } from "./decoders.ts";
import { maxRequestBytes, type Sharkd, SharkdRefusal } from "./sharkd.ts";

/** Maximum bytes of a display filter as JSON. The request around it needs the rest of sharkd's line. */
const maxFilterBytes = maxRequestBytes - 250;

/** Reads decoded packets of the host's captures, in the types of the driver interface. */
export class CaptureViews {
  readonly #decoders: Decoders;

  constructor(decoders: Decoders) {
    this.#decoders = decoders;
  }

  /**
   * @param directory of the capture
   * @param user the user who reads. Throws bad_request for a wrong display filter.
   */
  async packets(directory: string, user: string, { after, limit, filter, skip = 0 }: CapturePacketsQuery): Promise<CapturePackets> {
    const shown = filter.trim() === "" ? undefined : filter;
    if (shown !== undefined) refuseUnsendable(shown);
    return this.#decoders.with(directory, user, async (view) => {
      // Checked without the brackets first, because a filter could close the bracket around it.
      if (shown !== undefined) await checkFilter(view.sharkd, shown);
      const { frames } = (await view.sharkd.request("status")) as { readonly frames: number };
      const matching = shown === undefined ? frames : await countOf(view.sharkd, shown);
      // Without a filter, packet numbers are positions in the list, so that skipping packets needs no decoding.
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

  /** Throws bad_request if there is no packet with this number. */
  packet(directory: string, user: string, number: number): Promise<CapturePacketDetails> {
    return this.#decoders.with(directory, user, async (view) => {
      const { frames } = (await view.sharkd.request("status")) as { readonly frames: number };
      if (number > frames) throw wrong("/number", `the capture has ${frames} packets`);
      const frame = (await view.sharkd.request("frame", { frame: number, proto: true, bytes: true })) as {
        readonly tree: readonly SharkdNode[];
        readonly bytes?: string;
        readonly ds?: readonly { readonly name: string; readonly bytes?: string }[];
      };
      return {
        number,
        view: String(view.oldest),
        bytes: hexOf(frame.bytes),
        ...(frame.ds !== undefined && { sources: frame.ds.map(({ name, bytes }) => ({ name, bytes: hexOf(bytes) })) }),
        tree: frame.tree.map(nodeOf),
      };
    });
  }
}

function refuseUnsendable(filter: string): void {
  const place = controlCharacter(filter);
  if (place !== undefined) throw wrong("/filter", place);
  const bytes = Buffer.byteLength(JSON.stringify(filter));
  if (bytes <= maxFilterBytes) return;
  throw wrong("/filter", `a display filter may have ${maxFilterBytes} bytes as a JSON text; this one has ${bytes}: shorten it`);
}

async function checkFilter(sharkd: Sharkd, filter: string): Promise<void> {
  await sharkd.request("check", { filter }).catch((error: unknown) => {
    throw error instanceof SharkdRefusal ? wrong("/filter", error.reason) : error;
  });
}

/** Returns how many packets of the whole capture match a filter. */
async function countOf(sharkd: Sharkd, filter: string): Promise<number> {
  const { frames } = (await sharkd.request("intervals", { filter, interval: 2 ** 31 - 1 })) as { readonly frames: number };
  return frames;
}

function hexOf(base64 = ""): string {
  return Buffer.from(base64, "base64").toString("hex");
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
  /** The bytes that `h` refers to: 0 for the packet, n for the nth data source. */
  readonly ds?: number;
  readonly s?: string;
  /** The packet number, if the field refers to a packet. */
  readonly fnum?: number;
  readonly n?: readonly SharkdNode[];
}

function nodeOf({ l, f, h, ds, s, fnum, n }: SharkdNode): PacketTreeNode {
  return {
    label: l,
    ...(f !== undefined && { filter: f }),
    ...(h !== undefined && { offset: h[0], length: h[1] }),
    ...(h !== undefined && ds !== undefined && ds > 0 && { source: ds - 1 }),
    ...(s !== undefined && { severity: s }),
    ...(fnum !== undefined && { packet: fnum }),
    ...(n !== undefined && { children: n.map(nodeOf) }),
  };
}

function wrong(path: string, message: string): Failure {
  return new Failure("bad_request", `${path.slice(1)}: ${message}`, { data: { problems: [{ path, message }] } });
}
