/** The configurations of a router. */
export interface RouterConfigs {
  readonly running: string;
  /** The configuration that the node saved and starts with; empty if it has saved none. */
  readonly startup: string;
}

/** Between the two configurations in the output. */
const separator = "\u001e";

/** Prints the running configuration of FRR, and the one that it starts with. */
const script = `command -v vtysh > /dev/null || { echo "this node has no vtysh, which shows the configuration" >&2; exit 1; }
vtysh -c "show running-config" || exit 1
printf '\\036'
cat /etc/frr/frr.conf 2> /dev/null || true`;

export const configsCommand: readonly string[] = ["/bin/sh", "-c", script];

/** Returns the configurations in the output of configsCommand, without the lines around them that FRR only shows. */
export function routerConfigs(output: string): RouterConfigs {
  const at = output.indexOf(separator);
  const [running, startup] = at < 0 ? [output, ""] : [output.slice(0, at), output.slice(at + 1)];
  return { running: bare(running), startup: bare(startup) };
}

function bare(text: string): string {
  const lines = text.replaceAll("\r", "").split("\n");
  const shown = lines.filter((line) => !/^(?:Building configuration\.\.\.|Current configuration:|end)\s*$/.test(line));
  // Empty lines and lines with ! alone only separate.
  const isSeparator = (line: string) => /^!?\s*$/.test(line);
  const first = shown.findIndex((line) => !isSeparator(line));
  const last = shown.findLastIndex((line) => !isSeparator(line));
  return first < 0 ? "" : `${shown.slice(first, last + 1).join("\n")}\n`;
}
