import { Failure } from "../../contract/errors.ts";

/** Returns a function that rethrows a host's refusal with the node's key instead of its name on the host, because calls and commands use keys. */
export function inKeys({ key, node: { name } }: { readonly key: string; readonly node: { readonly name: string } }) {
  return (error: unknown): never => {
    if (!(error instanceof Failure) || key === name) throw error;
    const message = inKeyText(error.message, { key, name });
    const data = error.data?.node === name ? { ...error.data, node: key } : error.data;
    throw new Failure(error.code, message, { ...(data !== undefined && { data }), cause: error });
  };
}

/** Returns the message of a host with the node's key instead of its name on the host. */
export function inKeyText(message: string, { key, name }: { readonly key: string; readonly name?: string }): string {
  if (name === undefined || name === key) return message;
  return message.replaceAll(/\b(node|console of) ([\w.-]*\w)/g, (text, before: string, word: string) =>
    word === name ? `${before} ${key}` : text,
  );
}
