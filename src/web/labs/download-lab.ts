import { zipOf } from "../archive/zip.ts";
import { saveDownload } from "../captures/save-download.ts";
import { readIntent } from "../intent/read-intent.ts";

/** Saves the text of a lab: as YAML, or with its files as a zip. Users who may not edit the lab get it without comments and secrets. */
export async function downloadLab(lab: string): Promise<void> {
  const { yaml, files } = (await readIntent(lab, true)).intent;
  const name = lab.split("/").at(-1)!;
  const beside = Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1));
  const [bytes, filename, mediaType] =
    beside.length === 0
      ? [new TextEncoder().encode(yaml), `${name}.yaml`, "application/yaml"]
      : [zipOf(new Map([[`${name}.yaml`, yaml], ...beside])), `${name}.zip`, "application/zip"];
  await saveDownload({ body: new Blob([bytes]).stream(), filename, mediaType });
}
