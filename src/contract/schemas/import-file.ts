import Type, { type Static } from "typebox";
import { Diagnostic } from "./project.ts";
import { integer, list, map, optionalFiles, optionalFlag, optionalJson, optionalName, optionalText, text, word } from "./shapes.ts";

/** A file of another tool: exactly one of text, base64, files and url. */
export const ImportFilePayload = Type.Object({
  /** Name of the file, for the report. Absent: lab. */
  filename: optionalName,
  /** The file as text. */
  text: optionalText,
  /** The file, or an archive (zip, tar or tar.gz), in base64. */
  base64: optionalText,
  /** The files of a folder, all of them texts. */
  files: optionalFiles,
  /** Address of the file or archive, which the service loads. Only for the hosts in importUrlHosts of the capabilities. */
  url: optionalText,
  /** The lab's file within the folder or archive, if there are several. */
  path: optionalName,
  /** Absent: found by content. */
  format: optionalName,
  /** Replaces nodes whose image is not there: routers by this template, hosts by linux, switches by switch. */
  substitute: Type.Optional(word(["frr", "linux"])),
  /** true: make FRR configurations of those in the language of IOS, for routers that FRR replaces. */
  translate_configs: optionalFlag,
  /** Values of variables that the file names. */
  variables: Type.Optional(map(text)),
  /** Tables of rules for node types, as YAML. They win over the service's own. */
  mapping: Type.Optional(Type.Array(text, { maxItems: 16 })),
});
export type ImportFilePayload = Static<typeof ImportFilePayload>;

/** A part of the source and what became of it. */
export const ImportReportLine = Type.Object({
  /** Path of the file in the source. */
  file: text,
  /** JSON pointer into the file. */
  path: text,
  line: integer,
  level: word(["kept", "mapped", "dropped"]),
  message: text,
});

export const ImportFileData = Type.Object({
  /** labwright: an archive of `labwright export`, or a `url` of a lab of Labwright, which is returned as it is. */
  format: text,
  /** Path of the lab's file in the source. */
  path: text,
  /** Name of the new lab. */
  name: text,
  yaml: text,
  files: map(text),
  /** Number of lines of the report by level. */
  counts: Type.Object({ kept: integer, mapped: integer, dropped: integer }),
  /** A line for each leaf of the source, or for a whole list or map if its leaves share one fate. */
  report: list(ImportReportLine),
  /** Number of lines that the report lacks, because it is too long. First those about kept parts are left out. */
  report_left_out: integer,
  /** For `source` of deployProject, which stores it with the lab. Its report has at most 2,000 lines. Absent: the lab is one of Labwright. */
  source: optionalJson,
  /** Images that nodes need and that are not on the host, with these nodes. */
  missing: list(Type.Object({ template: text, image: text, vendor: optionalText, file: optionalText, nodes: list(text) })),
  /** Files of the archive that are too large to import. */
  left_out: list(Type.Object({ path: text, bytes: integer })),
  /** Problems of the new lab; errors only if the source itself has them. */
  diagnostics: list(Diagnostic),
});
export type ImportFileData = Static<typeof ImportFileData>;
