import { Failure } from "../../contract/errors.ts";

/** Throws the only error of importers: the file is not a lab, or one that must not be read. */
export function refuse(message: string, place: { readonly file?: string; readonly line?: number } = {}): never {
  const { file, line } = place;
  const where = file === undefined ? "" : `${file}${line === undefined ? "" : `:${line}`}: `;
  throw new Failure("invalid_source", `${where}${message}`, {
    data: { ...(file !== undefined && { file }), ...(line !== undefined && { line }) },
  });
}
