/** "1 packet", "2 packets". */
export function packetsWord(count: number): string {
  return count === 1 ? "1 packet" : `${count} packets`;
}
