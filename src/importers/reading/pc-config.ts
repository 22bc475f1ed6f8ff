/** The commands of a VPCS that template pc has too. */
const known = /^(?:ip\s|set\s+pcname\s|#|dhcp\b|save\b|clear\s+ip)/;

/**
 * Returns the configuration of a VPCS in the language of template pc, and the lines that it does not have. A VPCS also takes the mask behind the gateway, as a number or
 * with dots.
 */
export function pcConfig(text: string): { readonly text: string; readonly left: readonly string[] } {
  const left: string[] = [];
  const lines = text.split(/\r?\n/).flatMap((raw) => {
    const line = raw.trim();
    if (line === "" || line === "save") return [];
    const address = /^ip\s+(\d+\.\d+\.\d+\.\d+)(?:\/(\d{1,2}))?((?:\s+\S+){0,3})$/.exec(line);
    if (address !== null) return [addressLine(address[1] ?? "", address[2], (address[3] ?? "").trim().split(/\s+/))];
    if (/^(?:ip\s+)?dhcp\b/.test(line)) return ["ip dhcp"];
    if (known.test(line) && !/^ip\s+(?:dns|domain|auto)\b/.test(line)) return [line];
    left.push(line);
    return [];
  });
  return { text: lines.length === 0 ? "" : `${lines.join("\n")}\n`, left };
}

function addressLine(address: string, length: string | undefined, rest: readonly string[]): string {
  const words = rest.filter((word) => word !== "" && word !== "gateway");
  const mask = length ?? words.map(prefixLength).find((each) => each !== undefined) ?? "24";
  const gateway = words.find((word) => /^\d+\.\d+\.\d+\.\d+$/.test(word) && prefixLength(word) === undefined);
  return `ip ${address}/${mask}${gateway === undefined ? "" : ` ${gateway}`}`;
}

/** Returns the prefix length of "24" or "255.255.255.0". */
export function prefixLength(word: string): string | undefined {
  if (/^\d{1,2}$/.test(word)) return Number(word) <= 32 ? word : undefined;
  const bytes = word.split(".").map(Number);
  if (bytes.length !== 4 || bytes[0] === undefined || bytes[0] < 128) return undefined;
  const bits = bytes.map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return /^1+0*$/.test(bits) && bits.length === 32 ? String(bits.indexOf("0") < 0 ? 32 : bits.indexOf("0")) : undefined;
}
