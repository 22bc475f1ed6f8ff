import { connect } from "node:tls";
import type { MachineStore } from "../../service/store/machines.ts";
import { memberTls } from "./member-listener.ts";
import { knownCredentials, type MemberCredentials, subjectOf } from "./membership.ts";

/** Longest wait for an answer at the earlier address, ms. */
const answerMs = 3_000;

export interface CopyOptions {
  readonly stateDir: string;
  readonly machines: MachineStore;
  /** The address of this start. */
  readonly url: string;
}

/**
 * Throws an Error for the user if this state directory is a copy of one whose machine runs at its own address, as after the clone of a virtual machine: both
 * would be the same machine of the fleet, with the same labs.
 */
export async function refuseCopy({ stateDir, machines, url }: CopyOptions): Promise<void> {
  const own = (await machines.members()).find(({ isOwn }) => isOwn);
  if (own === undefined || own.url === url) return;
  const credentialsOf = await knownCredentials({ stateDir, machines, url });
  if (credentialsOf === undefined || !(await answersAs(own.number, own.url, credentialsOf(own.number)))) return;
  throw new Error(
    `this state directory is that of the machine ${own.name}, which runs at ${own.url}: a new machine needs an empty one (its own --state-dir, or remove the copied files except images, vm-images and bin). If ${own.name} has moved here, stop its service there first`,
  );
}

/** Whether a service with the certificate of this machine answers at an address. */
function answersAs(number: number, url: string, credentials: MemberCredentials): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({
      ...memberTls(credentials),
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port),
      timeout: answerMs,
      checkServerIdentity: (_name, { subject }) => (subject.CN === subjectOf(number) ? undefined : new Error("another machine")),
    });
    const end = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("secureConnect", () => end(true));
    // Nothing listens there, or another machine.
    socket.once("error", () => end(false));
    socket.once("timeout", () => end(false));
  });
}
