/** One port of the machine, on one or more of its addresses. */
export interface MachinePort {
  /** Closes the port and ends its connections or sessions. */
  close(): void;
}

/** Counts what is open for all ports together. */
export class Counter {
  readonly #most: number;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get isFull(): boolean {
    return this.#count >= this.#most;
  }

  /** Adds one. Returns the function that removes it; only its first call counts. */
  add(): () => void {
    this.#count++;
    let added = 1;
    return () => {
      this.#count -= added;
      added = 0;
    };
  }
}

/** The addresses on which a port without an address is open. */
export const loopbackAddresses: readonly string[] = ["127.0.0.1", "::1"];

/** Returns whether the error means that the machine has no IPv6. */
export function isWithoutIpv6(address: string, { code }: NodeJS.ErrnoException): boolean {
  return address === "::1" && (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT");
}
