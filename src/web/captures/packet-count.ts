/** "1 packet", "2 packets". */
export function packetCount(count: number): string {
  return count === 1 ? "1 packet" : `${count} packets`;
}
