import type { MachineRow } from "../../../service/store/machines.ts";

/** Reasons of TLS that wrong clocks cause. */
const ofClocks = /certificate (has expired|is not yet valid)|alert certificate expired|CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/i;

/** Whether a connection failed because one of the machines has a clock that is far off: certificates of the fleet begin a day ago and end in a month. */
export function isOfClocks({ message }: Error): boolean {
  return ofClocks.test(message);
}

/** Returns why a machine that reports to the database cannot be called, with the next step. */
export function connectionProblem({ name, url }: Pick<MachineRow, "name" | "url">, cause: Error): string {
  if (isOfClocks(cause))
    return `${name} reports, but its certificate is refused (${cause.message}): the clock of ${name} or of this machine is wrong (timedatectl)`;
  return `${name} reports, but this machine has no connection to it at ${url} (${cause.message}): allow that TCP port between the machines, or correct its --advertise`;
}
