/** A command of a configuration in the language of IOS, with the commands of its block. */
export interface IosLine {
  readonly text: string;
  /** From 1. */
  readonly line: number;
  readonly children: readonly IosLine[];
}

/** Commands of blocks that some people write without indentation. */
const unindented: readonly (readonly [RegExp, RegExp])[] = [
  [/^interface /i, /^(no )?(ip(v4|v6)? (address|ospf|router)|shut|description|duplex|speed|encapsulation|switchport)/i],
  [
    /^router /i,
    /^(no )?(network|neighbor|router-id|passive-interface|bgp |redistribute|auto-summary|address-family|exit-address-family|default-information|area |maximum-paths|aggregate-address)/i,
  ],
];

/** Divides a configuration into commands and their blocks, by indentation. Comments and banners are left out. */
export function iosBlocks(text: string): readonly IosLine[] {
  const top: (IosLine & { readonly children: IosLine[] })[] = [];
  let banner: string | undefined;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim().replace(/\s+/g, " ");
    if (banner !== undefined) {
      if (raw.includes(banner)) banner = undefined;
      continue;
    }
    const [, delimiter, rest = ""] = /^banner \S+ (\^?\S)(.*)$/i.exec(line) ?? [];
    if (delimiter !== undefined) {
      if (!rest.includes(delimiter)) banner = delimiter;
      continue;
    }
    if (line === "" || line.startsWith("!")) continue;
    const last = top.at(-1);
    const isChild =
      /^\s/.test(raw) || (last !== undefined && unindented.some(([block, child]) => block.test(last.text) && child.test(line)));
    const found = { text: line, line: index + 1, children: [] };
    if (isChild && last !== undefined) last.children.push(found);
    else top.push(found);
  }
  return top;
}
