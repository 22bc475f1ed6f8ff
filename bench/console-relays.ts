/**
 * The other ends of the console measurements, one process each. `source SOCKET` writes without end to each client, as fast as the client reads.
 * `service SOCKET` is Labwright with a host whose consoles are that source. `member SOCKET STORE URL NAME TOKEN` is the same as a machine of a fleet (TOKEN -: the
 * first one). `tls SOCKET` and `tcp SOCKET` only relay the source, and `tls-tls PORT` relays the `tls` at that port. All but the source print their address, and the
 * fingerprint to pin.
 */

import { mkdtempSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import type { Host, HostSession } from "../src/hosts/host.ts";
import { SocketStream } from "../src/hosts/local/holder/socket-stream.ts";
import { memoryHost } from "../src/hosts/memory/memory-host.ts";
import { openFleet } from "../src/server/fleet/fleet.ts";
import { startServer } from "../src/server/start.ts";
import { fingerprintOf } from "../src/server/tls/certificate.ts";
import { selfSigned } from "../src/server/tls/self-signed.ts";
import { createService } from "../src/service/create-service.ts";
import { postgresAddress } from "../src/service/store/address/address.ts";
import { postgresStore } from "../src/service/store/postgres/postgres-store.ts";
import { sqliteStore } from "../src/service/store/sqlite.ts";

const [role = "", source = "", storeUrl = "", memberUrl = "", name = "", token = "-"] = process.argv.slice(2);
const certificate = () => selfSigned({ names: ["localhost"], from: new Date(Date.now() - 1000), until: new Date(Date.now() + 1e8) });

/** Lines of a typical console. */
const block = Buffer.from("interface GigabitEthernet0/1 is up, line protocol is up, 1000 Mbit/s\r\n".repeat(1000).slice(0, 64 << 10));

function speak(socket: Socket): void {
  const more = () => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on("drain", more).on("error", () => socket.destroy());
  socket.resume();
  more();
}

function carry(socket: Socket, upstream: Socket = connect(source)): void {
  upstream.pipe(socket);
  socket.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
  upstream.on("error", () => socket.destroy());
  socket.resume();
}

function withSource(session: HostSession): HostSession {
  return {
    ...session,
    console: async () => {
      // The same as in the embedded host.
      const stream = new SocketStream(source);
      return { stream, listen: (each) => stream.listen(each) };
    },
  };
}

switch (role) {
  case "source":
    createServer(speak).listen(source, () => console.log("ready"));
    break;
  case "tcp": {
    const server = createServer((socket) => carry(socket)).listen(0, "127.0.0.1", () =>
      console.log(`${(server.address() as AddressInfo).port} -`),
    );
    break;
  }
  case "tls": {
    const { certificate: cert, key } = certificate();
    const server = createTlsServer({ cert, key, minVersion: "TLSv1.2" }, (socket) => carry(socket)).listen(0, "127.0.0.1", () =>
      console.log(`${(server.address() as AddressInfo).port} -`),
    );
    break;
  }
  case "tls-tls": {
    const { certificate: cert, key } = certificate();
    const upstream = () => connectTls({ host: "127.0.0.1", port: Number(source), rejectUnauthorized: false });
    const server = createTlsServer({ cert, key, minVersion: "TLSv1.2" }, (socket) => carry(socket, upstream())).listen(0, "127.0.0.1", () =>
      console.log(`${(server.address() as AddressInfo).port} -`),
    );
    break;
  }
  case "service":
  case "member": {
    const inner = memoryHost({ users: [{ name: "admin", password: "bench", role: "admin" }] });
    const host: Host = {
      ...inner,
      login: async (user, password) => withSource(await inner.login(user, password)),
      // Also for calls that another machine passes on.
      resume: async (user) => withSource((await inner.resume!(user))!),
    };
    const log = () => {};
    const version = "bench";
    const stateDir = mkdtempSync(join(tmpdir(), "labwright-bench-"));
    const store =
      role === "service" ? sqliteStore(":memory:") : await postgresStore(postgresAddress(storeUrl), { installation: stateDir, log });
    const joining = { stateDir, name, url: memberUrl, token: token === "-" ? undefined : token, version, log };
    const fleet = store.shared && (await openFleet({ ...joining, machines: store.shared.machines }));
    const service = createService({ host, store, log, version, ...(fleet !== undefined && { fleet: fleet.calls }) });
    const made = certificate();
    const server = await startServer({ service, certificate: { ...made, fingerprint: fingerprintOf(made.certificate) }, version, fleet });
    console.log(`${server.url} ${server.fingerprint}`);
    break;
  }
  default:
    throw new Error(`no role ${role}`);
}
process.once("SIGTERM", () => process.exit(0));
