import type { KeyedQueue } from "../../../base/keyed-queue.ts";
import type { EveAccount } from "../account/account.ts";
import type { EveEdition } from "../account/edition.ts";
import { hostFailure } from "../api/host-failure.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import { readByCalls } from "./lab-calls-read.ts";
import { exportLab } from "./lab-export.ts";
import type { EveLabPath } from "./lab-path.ts";
import { type NodeStatus, readFileTime, readNodes } from "./lab-read.ts";
import { withNodeQuality } from "./pnetlab-lab.ts";

interface Kept {
  readonly written: number;
  readonly lab: UnlLab;
}

/** A file that was written less than this time ago is read again, ms. File times are whole seconds, so a second write may leave the time as it is. */
const settledMs = 2_000;

/**
 * Reads labs as files. A file that was not written since is not read again: an export leaves an archive on the host every time.
 */
export class LabReader {
  readonly #edition: EveEdition;
  /** One export at a time: archives of the same second have the same name. */
  readonly #exports: KeyedQueue;
  readonly #kept = new Map<string, Kept>();

  constructor(edition: EveEdition, exports: KeyedQueue) {
    this.#edition = edition;
    this.#exports = exports;
  }

  /** Returns the lab with the power of its nodes. Three calls if the file is unchanged. Throws lab_not_found. */
  async read(account: EveAccount, at: EveLabPath): Promise<{ readonly lab: UnlLab; readonly nodes: readonly NodeStatus[] }> {
    const [nodes, time] = await Promise.all([readNodes(account, at), readFileTime(account, at)]);
    const kept = this.#kept.get(at.path);
    // guess pro-quality-place: it is not known whether Professional stores link quality in the file.
    if (kept !== undefined && kept.written === time?.written && this.#edition.quality !== "topology") {
      return { lab: this.#withQuality(kept.lab, nodes), nodes };
    }
    const lab = await this.#asFiled(account, at, nodes);
    if (time !== undefined && time.now - time.written * 1000 >= settledMs) this.#kept.set(at.path, { written: time.written, lab });
    else this.#kept.delete(at.path);
    if (this.#kept.size > 500) this.#kept.delete(this.#kept.keys().next().value ?? "");
    return { lab: this.#withQuality(lab, nodes), nodes };
  }

  /** The lab as it is now. */
  async file(account: EveAccount, at: EveLabPath): Promise<UnlLab> {
    const nodes = this.#edition.quality === "nodes" ? await readNodes(account, at) : undefined;
    return this.#withQuality(await this.#asFiled(account, at, nodes), nodes ?? []);
  }

  #withQuality(lab: UnlLab, nodes: readonly NodeStatus[]): UnlLab {
    return this.#edition.quality === "nodes" ? withNodeQuality(lab, nodes) : lab;
  }

  forget(path: string): void {
    this.#kept.delete(path);
  }

  async #asFiled(account: EveAccount, at: EveLabPath, nodes: readonly NodeStatus[] | undefined): Promise<UnlLab> {
    if (this.#edition.exports) {
      for (let tries = 0; tries < 3; tries++) {
        const lab = await this.#exports.run("", () => exportLab(account, at));
        if (lab === null) break;
        if (nodes === undefined || sameNodes(lab, nodes)) return lab;
        // Another export replaced the archive, or the lab is being changed.
        nodes = await readNodes(account, at);
        if (sameNodes(lab, nodes)) return lab;
      }
    }
    const lab = await readByCalls(account, this.#edition, at, nodes);
    if (nodes !== undefined && lab.nodes.length !== nodes.length) throw hostFailure(`lab ${at.path} changed while it was read: try again`);
    return lab;
  }
}

function sameNodes(lab: UnlLab, nodes: readonly NodeStatus[]): boolean {
  const word = (list: readonly { readonly id: number; readonly name?: string }[]) =>
    JSON.stringify(list.map(({ id, name }) => [id, name ?? ""]).sort(([a], [b]) => Number(a) - Number(b)));
  return word(lab.nodes) === word(nodes);
}
