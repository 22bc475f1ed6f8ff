import type { CaptureData } from "../../contract/schemas/captures.ts";
import { packetCount } from "./packet-count.ts";

/** Describes a capture: its packets, size, filter and end reason. @param total number of packets, if the page has a newer one than `packets` */
export function captureSummary(
  { filter, snaplen, reason, packets, size_bytes, max_bytes }: CaptureData,
  total: number = packets ?? 0,
): string {
  const size =
    size_bytes === undefined ? "" : `, ${sizeOf(size_bytes)}${max_bytes === undefined ? "" : ` of at most ${sizeOf(max_bytes)}`}`;
  const parts = [
    reason ?? "",
    `${packetCount(Math.max(total, packets ?? 0))} captured${size}`,
    filter === undefined ? "" : `filter ${filter}`,
    snaplen === undefined ? "" : `the first ${snaplen} bytes of each`,
  ];
  return parts.filter(Boolean).join(" · ");
}

function sizeOf(bytes: number): string {
  if (bytes < 2 ** 20) return `${(bytes / 2 ** 10).toFixed(1)} KiB`;
  return `${(bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0)} MiB`;
}
