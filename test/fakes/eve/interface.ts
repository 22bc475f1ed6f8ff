import { htmlEntities, isset, phpInt } from "./php.ts";

/** Attributes of the file that Community does not know and Professional keeps. */
export type Extra = readonly (readonly [string, string])[];

/** An interface of a node. EVE-NG makes all that a node has; only those that are joined are in the file. */
export class NodeInterface {
  readonly name: string;
  readonly type: "ethernet" | "serial";
  #network: number | undefined;
  #remote: readonly [node: number | undefined, index: number | undefined] = [undefined, undefined];
  extra: Extra = [];

  constructor(name: string, type: "ethernet" | "serial") {
    this.name = htmlEntities(name);
    this.type = type;
  }

  get networkId(): number {
    return this.#network ?? 0;
  }

  get remoteId(): number {
    return this.#remote[0] ?? 0;
  }

  get remoteIf(): number {
    return this.#remote[1] ?? 0;
  }

  get hasRemoteIf(): boolean {
    return this.#remote[1] !== undefined;
  }

  /** Whether anything was changed. */
  edit(p: { readonly network_id?: unknown; readonly remote_id?: unknown; readonly remote_if?: unknown }): boolean {
    if (this.type === "ethernet") {
      if (p.network_id === "") {
        this.#network = undefined;
        this.extra = [];
        return true;
      }
      if (!isset(p.network_id) || phpInt(p.network_id) <= 0) return false;
      this.#network = phpInt(p.network_id);
      return true;
    }
    if (p.remote_id === "") {
      this.#remote = [undefined, undefined];
      return true;
    }
    const node = isset(p.remote_id) && phpInt(p.remote_id) > 0 ? phpInt(p.remote_id) : undefined;
    const index = isset(p.remote_if) && phpInt(p.remote_if) >= 0 ? phpInt(p.remote_if) : undefined;
    this.#remote = [node ?? this.#remote[0], index ?? this.#remote[1]];
    return node !== undefined || index !== undefined;
  }
}
