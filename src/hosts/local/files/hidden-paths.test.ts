import { expect, test } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import { hidingPaths } from "./hidden-paths.ts";

const directories = ["/var/lib/labwright", "/run/labwright"];
const file = "/var/lib/labwright/labs/8a6e/lab.json";

/** The failure that a caller gets for this error. */
async function failureOf(error: Error): Promise<Failure> {
  const methods = hidingPaths({ lab: { read: async () => Promise.reject(error) } }, directories);
  return methods.lab.read().catch((reason: unknown) => reason as Failure);
}

test("files of the machine are their names in host_error, in data too, and the cause has the paths", async () => {
  const original = new Failure("host_error", `${file} does not read: EIO, open '${file}'`, {
    data: { host: { message: `open '${file}'`, code: 5 }, warnings: ["/run/labwright/8a6e/holder.sock: refused"] },
  });
  const failure = await failureOf(original);
  expect(failure).toMatchObject({
    code: "host_error",
    message: "lab.json does not read: EIO, open 'lab.json'",
    data: { host: { message: "open 'lab.json'", code: 5 }, warnings: ["holder.sock: refused"] },
    cause: original,
  });
});

test.each([
  new Failure("host_error", "lab /courses/bgp-1: node r1 has no /etc/frr/frr.conf", { data: { applied: [] } }),
  new Failure("bad_request", file),
  new TypeError(file),
])("other errors, and paths of labs and nodes, stay as they are: %s", async (error) => {
  expect(await failureOf(error)).toBe(error);
});

test("results of methods are unchanged", async () => {
  const items = (async function* () {
    yield 1;
  })();
  const methods = hidingPaths({ user: "ann", read: () => items, size: async () => 3 }, directories);
  expect([methods.user, methods.read(), await methods.size()]).toEqual(["ann", items, 3]);
});
