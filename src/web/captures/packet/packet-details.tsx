import { useEffect, useState } from "preact/hooks";
import type { CapturePacketData } from "../../../contract/schemas/captures.ts";
import { call } from "../../service/api.ts";
import { Problem } from "../../parts/problem.tsx";
import { PacketBytes } from "./packet-bytes.tsx";
import { PacketTree } from "./packet-tree.tsx";
import { fieldAt, type TreeRow } from "./tree-rows.ts";

interface PacketDetailsProps {
  readonly capture: string;
  /** Undefined: none is chosen. */
  readonly number: number | undefined;
  /** As long as it is the same, numbers mean the same packets. */
  readonly view: string | undefined;
  readonly onFilter: (filter: string) => void;
  /** Another packet is to be looked at. */
  readonly onGo: (number: number) => void;
}

/** One packet: its fields, and its bytes beside them. */
export function PacketDetails({ capture, number, view, onFilter, onGo }: PacketDetailsProps) {
  const [packet, setPacket] = useState<CapturePacketData>();
  const [error, setError] = useState<unknown>();
  const [missed, setMissed] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [field, setField] = useState<Pick<TreeRow, "path" | "range" | "filter" | "packet">>();
  const [source, setSource] = useState<number>();
  useEffect(() => {
    if (number === undefined) return;
    const asked = new AbortController();
    setError(undefined);
    call("getCapturePacket", { id: capture, number: String(number) }, { signal: asked.signal }).then(
      (told) => {
        if (asked.signal.aborted) return;
        // Between the list and this the oldest packets went: what came is another.
        if (told.view !== view) return setMissed(true);
        setMissed(false);
        setPacket(told);
        setField(undefined);
        setSource(undefined);
      },
      (problem: unknown) => !asked.signal.aborted && setError(problem),
    );
    return () => asked.abort();
    // A packet that is looked at stays when numbers come to mean others.
  }, [capture, number]);
  if (error !== undefined) return <Problem error={error} />;
  if (missed) return <p class="packet-hint">The oldest packets went just now, and the others are numbered anew. Choose again.</p>;
  if (packet === undefined) {
    return <p class="packet-hint">Choose a packet – by mouse, or by arrow keys in the list – to see its fields and its bytes here.</p>;
  }
  const sources = packet.sources ?? [];
  const hex = (source === undefined ? undefined : sources[source]?.bytes) ?? packet.bytes;
  const label = source === undefined ? `packet ${packet.number}` : (sources[source]?.name ?? "");
  const choose = (row: TreeRow) => {
    setField(row);
    if (row.range !== undefined) setSource(row.range.source);
  };
  const chooseByte = (byte: number) => {
    const found = fieldAt(packet.tree, source, byte);
    if (found === undefined) return;
    setOpen((now) => new Set([...now, ...found.open]));
    setField(found);
  };
  const tab = (of: number | undefined, text: string) => (
    <button key={text} type="button" aria-pressed={source === of} onClick={() => setSource(of)}>
      {text}
    </button>
  );
  return (
    <section class="packet-details" aria-label={`Packet ${packet.number}`}>
      <div class="packet-fields">
        <div class="details-head">
          <h2>Packet {packet.number}</h2>
          {packet.view !== view && <small>numbered so when it was opened</small>}
          <button
            type="button"
            disabled={field?.filter === undefined}
            onClick={() => field?.filter !== undefined && onFilter(field.filter)}
          >
            Filter by this field
          </button>
          {field?.packet !== undefined && field.packet !== packet.number && packet.view === view && (
            <button type="button" onClick={() => field.packet !== undefined && onGo(field.packet)}>
              Go to packet {field.packet}
            </button>
          )}
        </div>
        <PacketTree tree={packet.tree} selected={field?.path} onSelect={choose} open={open} onOpen={setOpen} />
      </div>
      <div class="packet-hex">
        <div class="details-head">
          {sources.length === 0 ? (
            <h2>{packet.bytes.length / 2} bytes</h2>
          ) : (
            <>
              {tab(undefined, `Packet (${packet.bytes.length / 2} bytes)`)}
              {sources.map(({ name }, index) => tab(index, name))}
            </>
          )}
        </div>
        <PacketBytes
          hex={hex}
          label={label}
          marked={field?.range !== undefined && field.range.source === source ? field.range : undefined}
          onByte={chooseByte}
        />
      </div>
    </section>
  );
}
