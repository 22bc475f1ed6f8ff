import type { CaptureData } from "../../contract/schemas/captures.ts";
import { packetsWord } from "./packet-count.ts";

/** What there is to say of a capture besides its status. @param total packets that are there, as far as the page knows better than `packets` */
export function captureWords(
  { filter, snaplen, reason, packets, size_bytes, max_bytes }: CaptureData,
  total: number = packets ?? 0,
): string {
  const size =
    size_bytes === undefined ? "" : `, ${sizeOf(size_bytes)}${max_bytes === undefined ? "" : ` of at most ${sizeOf(max_bytes)}`}`;
  const words = [
    reason ?? "",
    `${packetsWord(Math.max(total, packets ?? 0))} taken${size}`,
    filter === undefined ? "" : `filter ${filter}`,
    snaplen === undefined ? "" : `the first ${snaplen} bytes of each`,
  ];
  return words.filter(Boolean).join(" · ");
}

function sizeOf(bytes: number): string {
  if (bytes < 2 ** 20) return `${(bytes / 2 ** 10).toFixed(1)} KiB`;
  return `${(bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0)} MiB`;
}
