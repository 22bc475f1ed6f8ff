import type { Arguments } from "../command/arguments.ts";
import { type Command, type ExitCode, labFlag, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { followCapture } from "../streams/follow-capture.ts";
import { openPacketOutput, refuseOverwriting } from "../streams/packet-output.ts";

export const capture: Command = {
  name: "capture",
  summary: "Capture the packets of an interface into a file, into Wireshark, or on the host",
  operands: "[NODE:INTERFACE]",
  completes: "interface",
  maxOperands: 1,
  details:
    "With --write the packets are written as pcapng while they are captured, until Ctrl-C, a limit, or the end of the node. Then the capture is removed from\n" +
    "the host. A file with content is not overwritten.\n" +
    "Without --write the capture runs on the host until it is stopped: labwright captures lists captures, --download fetches one, --stop and --remove end it.\n" +
    "Into Wireshark: labwright capture r1:eth1 -w - | wireshark -k -i -",
  flags: [
    topoFlag,
    labFlag,
    { long: "write", short: "w", value: "FILE", completes: "file", summary: "Write the packets to this file; - is standard output" },
    { long: "filter", short: "f", value: "PCAP", summary: "Only packets that match this pcap filter" },
    { long: "snaplen", short: "s", value: "BYTES", summary: "Keep only the first bytes of each packet" },
    { long: "count", short: "c", value: "PACKETS", summary: "End after this number of packets" },
    { long: "duration", value: "SECONDS", summary: "End after this time" },
    { long: "download", value: "ID", summary: "Write the packets of a capture on the host to --write" },
    { long: "stop", value: "ID", summary: "Stop a capture on the host and keep its packets" },
    { long: "remove", value: "ID", summary: "Remove a capture from the host, with its packets" },
  ],
  example: "labwright capture r1:eth1 -w pings.pcapng --filter icmp --duration 60",
  run: async (context, args) => {
    const target = args.text("write");
    if (target !== undefined) refuseOverwriting(target);
    const ended = await endOne(context, args);
    if (ended !== undefined) return ended;
    const { node, name } = interfaceOf(args);
    const limits = limitsOf(args);
    const { selector } = await context.project();
    const client = await context.client();
    const filter = args.text("filter");
    const started = await client.startCapture({
      ...selector,
      node,
      interface: name,
      ...(filter === undefined ? {} : { filter }),
      ...(limits.snaplen === undefined ? {} : { snaplen: limits.snaplen }),
    });
    const file = args.text("write");
    if (file === undefined) {
      context.result(started, ({ capture: id }) => `${id} captures ${node}:${name}`);
      context.terminal.note(
        `labwright capture --download ${started.capture} -w FILE fetches its packets, --stop ${started.capture} ends it`,
      );
      return 0;
    }
    return followCapture(context, client, { id: started.capture, name: `${node}:${name}`, file, ...limits });
  },
};

/** Runs --download, --stop and --remove on an existing capture. Returns `undefined` if none of these flags is given. */
async function endOne(context: Context, args: Arguments): Promise<ExitCode | undefined> {
  const [fetched, stopped, removed] = [args.text("download"), args.text("stop"), args.text("remove")];
  if (fetched === undefined && stopped === undefined && removed === undefined) return undefined;
  if (args.operands.length > 0) throw new UsageError("--download, --stop and --remove take the id of a capture, not an interface");
  const client = await context.client();
  if (stopped !== undefined) {
    const data = await client.stopCapture({ id: stopped });
    if (fetched === undefined && removed === undefined)
      context.result(data, ({ capture: id, packets }) => `${id} stopped, ${packets} packets`);
  }
  if (fetched !== undefined) {
    const file = args.text("write");
    if (file === undefined) throw new UsageError("--download needs an output", "-w FILE, or -w - for standard output");
    const { body } = await client.downloadCapture({ id: fetched });
    const out = openPacketOutput(context, file);
    for await (const chunk of body as AsyncIterable<Buffer>) if (!(await out.write(chunk))) break;
    await out.close();
  }
  if (removed !== undefined) {
    const data = await client.removeCapture({ id: removed });
    context.result(data, ({ capture: id }) => `${id} removed`);
  }
  return 0;
}

function interfaceOf(args: Arguments): { readonly node: string; readonly name: string } {
  const [text] = args.operands;
  if (text === undefined) throw new UsageError("capture needs an interface", "labwright capture r1:eth1 -w FILE");
  const at = text.indexOf(":");
  if (at < 1 || at === text.length - 1) throw new UsageError(`"${text}" is not an interface`, "such as r1:eth1");
  return { node: text.slice(0, at), name: text.slice(at + 1) };
}

function limitsOf(args: Arguments): { readonly snaplen?: number; readonly count?: number; readonly duration?: number } {
  const [snaplen, count, duration] = [whole(args, "snaplen"), whole(args, "count"), whole(args, "duration")];
  if ((count !== undefined || duration !== undefined) && args.text("write") === undefined) {
    throw new UsageError("--count and --duration need --write", "add -w FILE, or -w - for standard output");
  }
  return {
    ...(snaplen === undefined ? {} : { snaplen }),
    ...(count === undefined ? {} : { count }),
    ...(duration === undefined ? {} : { duration }),
  };
}

function whole(args: Arguments, flag: string): number | undefined {
  const text = args.text(flag);
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--${flag} takes a number of at least 1, not "${text}"`);
  return Number(text);
}
