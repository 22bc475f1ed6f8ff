import { UsageError } from "../command/usage-error.ts";

/** A path in nodes, or on this machine; "-" is a tar archive on standard input or output. */
export type CopyOperand = { readonly nodes: string; readonly path: string } | { readonly nodes?: undefined; readonly path: string };

/** Parses an operand of cp: NODE:/PATH, or a path of this machine. One that begins with / or a dot is always of this machine. */
export function copyOperand(text: string): CopyOperand {
  if (text === "") throw new UsageError("cp: an empty path");
  if (/^[./]/.test(text) || text === "-") return { path: text };
  const at = text.indexOf(":/");
  if (at > 0) return { nodes: text.slice(0, at), path: text.slice(at + 1) };
  if (!text.includes(":")) return { path: text };
  const [node = "", rest = ""] = text.split(/:(.*)/s);
  throw new UsageError(
    `cp: "${text}" is not an absolute path in a node`,
    `write ${node}:/${rest} for a path in node ${node}, or ./${text} for a file here`,
  );
}
