import { Failure } from "../../contract/errors.ts";

/** Text before a node's name in error messages of a host. */
const before = ["node", "console of"];

/** Returns a function that rethrows a host's refusal with the node's key instead of its name on the host, because calls and commands use keys. */
export function inKeys({ key, node: { name } }: { readonly key: string; readonly node: { readonly name: string } }) {
  return (error: unknown): never => {
    if (!(error instanceof Failure) || key === name) throw error;
    const message = before.reduce((text, prefix) => text.replaceAll(`${prefix} ${name} `, `${prefix} ${key} `), error.message);
    const data = error.data?.node === name ? { ...error.data, node: key } : error.data;
    throw new Failure(error.code, message, { ...(data !== undefined && { data }), cause: error });
  };
}
