import { createServer } from "node:net";

/**
 * Throws an Error for the user if this machine cannot listen at the address at which the others shall reach it. Checked before the machine joins: a token
 * is used once, and calls of the others would go to the wrong place.
 */
export async function checkOwnAddress(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  if (/^0\.0\.0\.0$|^::$/.test(host))
    throw new Error(`--advertise ${url}: the other machines cannot connect to ${host}: name the address at which they reach this one`);
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port: Number(port), exclusive: true }, resolve);
    });
  } catch (error) {
    throw new Error(`--advertise ${url}: ${reasonOf(error as NodeJS.ErrnoException, host, port)}`, { cause: error });
  }
  await new Promise((resolve) => server.close(resolve));
}

function reasonOf({ code, syscall, message }: NodeJS.ErrnoException, host: string, port: string): string {
  if (syscall === "getaddrinfo") return `the name ${host} has no address: correct it, or use an address of this machine`;
  if (code === "EADDRNOTAVAIL") return `this machine has no address ${host}: name one of its own (ip address shows them)`;
  if (code === "EADDRINUSE") return `port ${port} of ${host} is in use: end the program that listens there, or choose another port`;
  if (code === "EACCES") return `port ${port} needs root: choose a port from 1024 on`;
  return message;
}
