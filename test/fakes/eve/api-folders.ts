import { type Envelope, fail, success } from "./answer.ts";
import type { Call } from "./call.ts";
import { inFolder, parentOf } from "./files.ts";
import { noticeOfKey } from "./notice.ts";
import { isset, phpString } from "./php.ts";

export function listFolder({ host, user }: Call, path: string): Envelope {
  const there = host.files.checkFolder(path);
  if (there === 2) return fail(400, 60009);
  if (there === 1) return fail(404, 60008);
  const up = path === "/" ? [] : [{ name: "..", path: parentOf(path) }];
  const folders = host.files.foldersIn(path).map((name) => ({ name, path: inFolder(path, name) }));
  const labs = host.files.labsIn(path).map((file) => {
    const at = inFolder(path, file);
    const modified = host.files.read(at)?.modified ?? new Date(0);
    return { file, path: at, umtime: Math.floor(modified.getTime() / 1000), mtime: inRome(modified, path === "/" ? " " : "  ") };
  });
  if (user !== undefined) user.folder = path;
  return success(200, 60007, { data: { folders: [...up, ...folders], labs } });
}

const romanTime = new Intl.DateTimeFormat("en-GB", {
  timeZone: "Europe/Rome",
  day: "2-digit",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});

/** EVE-NG is in Rome, wherever it is. Below the root there are two spaces. */
function inRome(date: Date, space: string): string {
  const parts = romanTime.formatToParts(date);
  const part = (type: string) => parts.find((each) => each.type === type)?.value ?? "";
  return `${part("day")} ${part("month")} ${part("year")}${space}${part("hour")}:${part("minute")}`;
}

export function addFolder({ host, body }: Call): Envelope {
  for (const key of ["name", "path"]) if (!isset(body[key])) noticeOfKey(host.settings, key, "api.php", 432, []);
  const [name, path] = [phpString(body.name), phpString(body.path)];
  const there = host.files.checkFolder(path);
  if (there === 2) return fail(400, 60009);
  if (there === 1) return fail(404, 60008);
  if (host.files.hasFolder(inFolder(path, name))) return fail(400, 60013);
  // mkdir makes one folder, below one that is there.
  if (!host.files.hasFolder(parentOf(inFolder(path, name)))) return fail(400, 60015);
  host.files.addFolder(inFolder(path, name));
  return success(200, 60014);
}

export function moveFolder({ host, body }: Call, path: string): Envelope {
  if (!isset(body.path)) noticeOfKey(host.settings, "path", "api.php", 404, []);
  const to = phpString(body.path);
  const from = host.files.checkFolder(path);
  if (from === 2) return fail(400, 60009);
  if (from === 1) return fail(404, 60008);
  const there = host.files.checkFolder(to);
  if (there === 2) return fail(400, 60047);
  if (there === 0) return fail(400, 60046);
  host.files.moveFolder(path, to);
  return success(200, 60049);
}

/** With all that is in it; running nodes run on. */
export async function deleteFolder({ host, user }: Call, path: string): Promise<Envelope> {
  const there = host.files.checkFolder(path);
  if (there === 2) return fail(400, 60009);
  if (there === 1) return fail(404, 60008);
  if (path === "/") return fail(400, 60010);
  for (const each of host.files.paths(path)) {
    const lab = await host.openLab(each, user?.tenant ?? 0).catch(() => undefined);
    if (lab !== undefined) host.runtime.removeDirectories(lab.id);
  }
  host.files.removeFolder(path);
  return success(200, 60012);
}
