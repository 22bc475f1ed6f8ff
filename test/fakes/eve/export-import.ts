import { readZip, writeZip } from "../../../src/files/zip/zip.ts";
import { type Envelope, fail, success } from "./answer.ts";
import type { Call } from "./call.ts";
import { inFolder } from "./files.ts";
import { readMultipart } from "./multipart.ts";
import { noticeOfKey } from "./notice.ts";
import { isset, phpString } from "./php.ts";

/** An archive of labs, without their ids; it is fetched outside of the API. */
export function exportLabs({ host, body }: Call, name = "unetlab"): Envelope {
  if (!isset(body.path)) noticeOfKey(host.settings, "path", "includes/api_labs.php", 208, []);
  const path = phpString(body.path);
  if (host.files.checkFolder(path) !== 0) return fail(400, 80077);
  const named = Object.entries(body)
    .filter(([key]) => key !== "path")
    .map(([, value]) => inFolder(path, phpString(value).slice(path.length).replace(/^\/+/, "")));
  const files = named.flatMap((each) => (host.files.hasFolder(each) ? host.files.paths(each) : [each]));
  const entries = files.flatMap((each) => {
    const file = host.files.read(each);
    if (file === undefined) return [];
    const text = file.text.replaceAll(/ id="[0-9a-f-]{36}"/g, "");
    return [{ name: each.slice(path === "/" ? 1 : path.length + 1), data: Buffer.from(text) }];
  });
  if (host.failingExports > 0 || entries.length === 0) {
    host.failingExports = Math.max(0, host.failingExports - 1);
    return fail(400, 15);
  }
  const now = host.settings.clock();
  // Two within a second share a name.
  const url = `/Exports/${name}_export-${stamp(now)}.zip`;
  host.exports.set(url, { data: writeZip(entries), made: now });
  return success(200, 80075, { data: url });
}

const romanStamp = new Intl.DateTimeFormat("sv-SE", { timeZone: "Europe/Rome", dateStyle: "short", timeStyle: "medium" });

/** date('Ymd-His') in Rome. */
function stamp(date: Date): string {
  const [day = "", time = ""] = romanStamp.format(date).split(" ");
  return `${day.replaceAll("-", "")}-${time.replaceAll(":", "")}`;
}

/**
 * Writes the archive's labs to their paths, over existing ones, locked or not, without reading them.
 * @param written gets the paths
 */
export function importLabs({ host, raw, contentType }: Call, written: string[] = []): Envelope {
  const form = readMultipart(raw, contentType);
  const upload = form.find(({ filename }) => filename !== undefined);
  if (upload === undefined) return fail(400, 80081);
  const path = form.find(({ name }) => name === "path")?.data.toString("utf8");
  if (path === undefined) return fail(400, 80076);
  if (host.files.checkFolder(path) !== 0) return fail(400, 80077);
  if (!upload.data.subarray(0, 4).equals(Buffer.from("PK\u0003\u0004"))) return fail(400, 80078);
  let entries: ReturnType<typeof readZip>;
  try {
    entries = readZip(upload.data).filter(({ name }) => name.endsWith(".unl"));
  } catch (error) {
    if (error instanceof SyntaxError) return fail(400, 80079);
    throw error;
  }
  // unzip(1) finds nothing to do.
  if (entries.length === 0) return fail(400, 80079);
  for (const { name, data } of entries) {
    // As unzip(1): no way up.
    const inside = name.split("/").filter((part) => part !== "" && part !== "." && part !== "..");
    const folder = inFolder(path, inside.slice(0, -1).join("/"));
    host.files.addFolder(folder);
    const file = inFolder(folder, inside.at(-1) ?? "");
    host.files.write(file, Buffer.from(data).toString("utf8"));
    written.push(file);
  }
  return success(200, 80080);
}
