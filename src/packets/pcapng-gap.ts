const interfaceStatistics = 5;
const comment = 1;

/**
 * Returns a block that marks missing packets at its place in a pcapng stream: interface statistics with a comment. Readers that do not look for it
 * skip it.
 * @param text ASCII
 * @param at ms since 1970
 */
export function gapBlock(text: string, at: number): Uint8Array {
  const padded = Math.ceil(text.length / 4) * 4;
  const length = 24 + 4 + padded + 4;
  const block = new Uint8Array(length);
  const view = new DataView(block.buffer);
  const time = BigInt(at) * 1_000_000n;
  view.setUint32(0, interfaceStatistics, true);
  view.setUint32(4, length, true);
  view.setUint32(12, Number(time >> 32n), true);
  view.setUint32(16, Number(time & 0xffff_ffffn), true);
  view.setUint16(20, comment, true);
  view.setUint16(22, text.length, true);
  for (let i = 0; i < text.length; i++) block[24 + i] = text.charCodeAt(i);
  view.setUint32(length - 4, length, true);
  return block;
}
