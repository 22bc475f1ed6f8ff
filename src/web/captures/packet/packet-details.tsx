import { useEffect, useState } from "preact/hooks";
import type { CapturePacketData } from "../../../contract/schemas/captures.ts";
import { Problem } from "../../parts/problem.tsx";
import { call } from "../../service/api.ts";
import { PacketBytes } from "./packet-bytes.tsx";
import { PacketTree } from "./packet-tree.tsx";
import { fieldAt, type TreeRow } from "./tree-rows.ts";

interface PacketDetailsProps {
  readonly capture: string;
  /** Number of the packet; undefined: none is selected. */
  readonly number: number | undefined;
  /** Identifies the numbering of the packets. */
  readonly view: string | undefined;
  readonly onFilter: (filter: string) => void;
  /** Called with the number of a related packet. */
  readonly onGo: (number: number) => void;
}

/** Shows one packet: its fields, and its bytes beside them. */
export function PacketDetails({ capture, number, view, onFilter, onGo }: PacketDetailsProps) {
  const [packet, setPacket] = useState<CapturePacketData>();
  const [error, setError] = useState<unknown>();
  const [isRenumbered, setIsRenumbered] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [field, setField] = useState<Pick<TreeRow, "path" | "range" | "filter" | "packet">>();
  const [source, setSource] = useState<number>();
  useEffect(() => {
    if (number === undefined) return;
    const request = new AbortController();
    setError(undefined);
    call("getCapturePacket", { id: capture, number: String(number) }, { signal: request.signal }).then(
      (data) => {
        if (request.signal.aborted) return;
        // The packets were renumbered after the list was read: the response is another packet.
        if (data.view !== view) return setIsRenumbered(true);
        setIsRenumbered(false);
        setPacket(data);
        setField(undefined);
        setSource(undefined);
      },
      (problem: unknown) => !request.signal.aborted && setError(problem),
    );
    return () => request.abort();
    // Not `view`: a shown packet stays when the packets are renumbered.
  }, [capture, number]);
  if (error !== undefined) return <Problem error={error} />;
  if (isRenumbered)
    return <p class="packet-hint">The oldest packets were dropped, and the others were renumbered. Select a packet again.</p>;
  if (packet === undefined) {
    return <p class="packet-hint">Select a packet by mouse or by arrow keys in the list to see its fields and bytes here.</p>;
  }
  const sources = packet.sources ?? [];
  const hex = (source === undefined ? undefined : sources[source]?.bytes) ?? packet.bytes;
  const label = source === undefined ? `packet ${packet.number}` : (sources[source]?.name ?? "");
  const select = (row: TreeRow) => {
    setField(row);
    if (row.range !== undefined) setSource(row.range.source);
  };
  const selectByte = (byte: number) => {
    const found = fieldAt(packet.tree, source, byte);
    if (found === undefined) return;
    setOpen((now) => new Set([...now, ...found.open]));
    setField(found);
  };
  const sourceButton = (index: number | undefined, text: string) => (
    <button key={text} type="button" aria-pressed={source === index} onClick={() => setSource(index)}>
      {text}
    </button>
  );
  return (
    <section class="packet-details" aria-label={`Packet ${packet.number}`}>
      <div class="packet-fields">
        <div class="details-head">
          <h2>Packet {packet.number}</h2>
          {packet.view !== view && <small>old number, before the packets were renumbered</small>}
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
        <PacketTree tree={packet.tree} selected={field?.path} onSelect={select} open={open} onOpen={setOpen} />
      </div>
      <div class="packet-hex">
        <div class="details-head">
          {sources.length === 0 ? (
            <h2>{packet.bytes.length / 2} bytes</h2>
          ) : (
            <>
              {sourceButton(undefined, `Packet (${packet.bytes.length / 2} bytes)`)}
              {sources.map(({ name }, index) => sourceButton(index, name))}
            </>
          )}
        </div>
        <PacketBytes
          hex={hex}
          label={label}
          marked={field?.range !== undefined && field.range.source === source ? field.range : undefined}
          onByte={selectByte}
        />
      </div>
    </section>
  );
}
