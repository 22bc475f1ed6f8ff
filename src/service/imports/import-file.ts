import { Failure } from "../../contract/errors.ts";
import type { ImportFileData, ImportFilePayload } from "../../contract/schemas/import-file.ts";
import type { Caller } from "../common/call.ts";
import { timeText } from "../common/clock.ts";
import { badRequest } from "../common/refusals.ts";
import type { LoadedSource } from "../common/url-imports.ts";
import type { ClockPart, SessionsPart, UrlImportsPart, WorkPart } from "../context/parts.ts";

/**
 * Makes the intent of a lab from a file of another tool. Changes nothing. Images count as missing if the host does not have them; if the host cannot be
 * reached, all images of users do. Throws bad_request, invalid_source, rate_limited and expired_host_session.
 */
export async function importFile(
  context: SessionsPart & UrlImportsPart & WorkPart & ClockPart,
  caller: Caller,
  payload: ImportFilePayload,
): Promise<ImportFileData> {
  const { path, format, substitute, text, base64, files, url } = payload;
  const given = Object.entries({ text, base64, files, url }).filter(([, value]) => value !== undefined);
  if (given.length !== 1)
    throw badRequest(
      "/text",
      "one of text, base64, files and url is needed: the file, the file in base64, the files of a folder, or its address",
    );
  const loaded = url === undefined ? undefined : await loadedFrom(context, url, caller.user);
  const filename = payload.filename || loaded?.filename || "lab";
  const host = await templatesOf(context, caller);
  return context.work.importSource({
    ...(loaded === undefined ? Object.fromEntries(given) : { base64: Buffer.from(loaded.bytes).toString("base64") }),
    filename,
    // The caller does not have the text.
    acceptsOwn: url !== undefined,
    importedAt: timeText(context.clock.now()),
    translateConfigs: payload.translate_configs === true,
    variables: payload.variables ?? {},
    mapping: payload.mapping ?? [],
    ...(path !== undefined && path !== "" && { path }),
    ...(format !== undefined && format !== "" && { format }),
    ...(substitute !== undefined && { substitute }),
    ...host,
  });
}

function loadedFrom({ urlImports }: UrlImportsPart, url: string, user: string): Promise<LoadedSource> {
  if (urlImports !== undefined) return urlImports.load(url, user);
  throw new Failure(
    "invalid_source",
    "this service loads no files from URLs: download the file and import it, or ask its administrator for: labwright serve --import-url-allow HOST",
  );
}

type SourceInput = Parameters<WorkPart["work"]["importSource"]>[0];

/** Returns the host's images by template, and its templates of virtual machines; nothing if the host cannot be asked. */
async function templatesOf({ sessions }: SessionsPart, caller: Caller): Promise<Pick<SourceInput, "images" | "machines">> {
  try {
    const host = await sessions.hostSession(caller);
    const templates = await host.templates();
    const { templates: rules } = await host.rules();
    return {
      images: Object.fromEntries(templates.map(({ id, images, provisioned }) => [id, provisioned ? images.map(({ name }) => name) : []])),
      machines: rules
        .filter(({ type }) => type === "qemu")
        .map(({ id, ethFormat, maxInterfaces, startupConfig }) => ({ id, format: ethFormat, maxInterfaces, startupConfig })),
    };
  } catch (error) {
    // If the caller's host session has ended, the caller must sign in and repeat the request.
    if (!(error instanceof Failure) || error.code === "expired_host_session") throw error;
    return {};
  }
}
