/**
 * The other ends of the console measurements, one process each. `source SOCKET` writes without end to each client, as fast as the client reads.
 * `service SOCKET` is Labwright with a host whose consoles are that source. `tls SOCKET` and `tcp SOCKET` only relay it. The last three print their
 * address, and the fingerprint to pin.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Host } from "../src/hosts/host.ts";
import { SocketStream } from "../src/hosts/local/holder/socket-stream.ts";
import { memoryHost } from "../src/hosts/memory/memory-host.ts";
import { startServer } from "../src/server/start.ts";
import { fingerprintOf } from "../src/server/tls/certificate.ts";
import { selfSigned } from "../src/server/tls/self-signed.ts";
import { createService } from "../src/service/create-service.ts";
import { sqliteStore } from "../src/service/store/sqlite.ts";

const [role = "", source = ""] = process.argv.slice(2);
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

function carry(socket: Socket): void {
  const upstream = connect(source);
  upstream.pipe(socket);
  socket.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
  upstream.on("error", () => socket.destroy());
  socket.resume();
}

switch (role) {
  case "source":
    createServer(speak).listen(source, () => console.log("ready"));
    break;
  case "tcp": {
    const server = createServer(carry).listen(0, "127.0.0.1", () => console.log(`${(server.address() as AddressInfo).port} -`));
    break;
  }
  case "tls": {
    const { certificate: cert, key } = certificate();
    const server = createTlsServer({ cert, key, minVersion: "TLSv1.2" }, carry).listen(0, "127.0.0.1", () =>
      console.log(`${(server.address() as AddressInfo).port} -`),
    );
    break;
  }
  case "service": {
    const inner = memoryHost({ users: [{ name: "admin", password: "bench", role: "admin" }] });
    const host: Host = {
      ...inner,
      login: async (user, password) => ({
        ...(await inner.login(user, password)),
        console: async () => {
          // The same as in the embedded host.
          const stream = new SocketStream(source);
          return { stream, listen: (each) => stream.listen(each) };
        },
      }),
    };
    const service = createService({ host, store: sqliteStore(":memory:"), log: () => {}, version: "bench" });
    const made = certificate();
    const server = await startServer({ service, certificate: { ...made, fingerprint: fingerprintOf(made.certificate) }, version: "bench" });
    console.log(`${server.url} ${server.fingerprint}`);
    break;
  }
  default:
    throw new Error(`no role ${role}`);
}
process.once("SIGTERM", () => process.exit(0));
