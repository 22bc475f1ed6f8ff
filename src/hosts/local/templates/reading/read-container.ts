import { type KernelFeature, kernelFeatures } from "../../../../engine/model/kernel-features.ts";
import { type ContainerTemplate, type RefusedMeans, refusedMeans, type TemplateNeed } from "../container-template.ts";
import type { Reader } from "./reader.ts";

const absolute = /^(\/[A-Za-z0-9._-]+)+$/;
const modeShape = /^0?[0-7]{3}$/;

/** Reads the key `container` of a template. */
export function readContainer(reader: Reader): ContainerTemplate {
  const map = reader.map([], ["entrypoint", "command", "wrapper", "before", "env", "user", "workdir", "first-process", "files", "config"]);
  const texts = (key: string) => map.get(key).optional()?.texts();
  const [entrypoint, command] = [texts("entrypoint"), texts("command")];
  const user = map.get("user").optional()?.text();
  const workdir = map.get("workdir").optional()?.text(absolute, "an absolute path");
  const config = map.get("config").optional()?.map(["path"], ["mode"]);
  const path = config?.get("path").text(absolute, "an absolute path");
  return {
    ...(entrypoint === undefined ? {} : { entrypoint }),
    ...(command === undefined ? {} : { command }),
    wrapper: texts("wrapper") ?? [],
    before: texts("before") ?? [],
    env: readEnv(map.get("env")),
    ...(user === undefined ? {} : { user }),
    ...(workdir === undefined ? {} : { workdir }),
    isFirstProcess: map.get("first-process").optional()?.boolean() ?? false,
    files: readFiles(map.get("files")),
    ...(path === undefined ? {} : { config: { path, mode: modeOf(config?.get("mode")) } }),
  };
}

function readEnv(reader: Reader): Readonly<Record<string, string>> {
  if (reader.optional() === undefined) return {};
  return Object.fromEntries(
    reader.entries().flatMap(([name, value]) => {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) value.fail(`${name} is not the name of a variable`);
      const text = value.string();
      return text === undefined ? [] : [[name, text] as const];
    }),
  );
}

function readFiles(reader: Reader): ContainerTemplate["files"] {
  if (reader.optional() === undefined) return [];
  return reader.entries().map(([path, value]) => {
    if (!absolute.test(path)) value.fail(`${path} is not an absolute path`);
    const file = value.map(["text"], ["mode"]);
    return { path, mode: modeOf(file.get("mode")), text: file.get("text").string() ?? "" };
  });
}

function modeOf(reader: Reader | undefined): number {
  return Number.parseInt(reader?.optional()?.text(modeShape, 'a mode in quotes, such as "0644"') ?? "0644", 8);
}

const meansWords = Object.keys(refusedMeans) as RefusedMeans[];
const featureWords = Object.keys(kernelFeatures) as KernelFeature[];

/** Reads the key `needs` of a template. */
export function readNeeds(reader: Reader): readonly TemplateNeed[] {
  if (reader.optional() === undefined) return [];
  return reader.list().flatMap((item) => {
    const map = item.map(["for", "without"], ["means", "kvm", "kernel", "setting", "min", "cpu", "instead", "if-config"]);
    const given = ["means", "kvm", "kernel", "setting", "cpu"].filter((key) => map.get(key).optional() !== undefined);
    if (given.length !== 1) return item.fail("a need has one of means, kvm, kernel, setting and cpu") ?? [];
    const setting = map.get("setting");
    if (setting.optional() === undefined) map.get("min").optional()?.fail("min needs setting");
    const what = whatOf(given[0]!, map);
    const instead = map.get("instead").optional()?.text();
    const ifConfig = map.get("if-config").optional()?.pattern();
    const [purpose, without] = [map.get("for").text() ?? "", map.get("without").text() ?? ""];
    return what === undefined
      ? []
      : [{ what, for: purpose, without, ...(instead === undefined ? {} : { instead }), ...(ifConfig === undefined ? {} : { ifConfig }) }];
  });
}

function whatOf(key: string, map: { get(key: string): Reader }): TemplateNeed["what"] | undefined {
  const value = map.get(key);
  if (key === "means") {
    const means = value.oneOf(meansWords);
    return means && { means };
  }
  if (key === "kernel") {
    const kernel = value.oneOf(featureWords);
    return kernel && { kernel };
  }
  if (key === "cpu") return { cpu: value.texts() };
  if (key === "kvm") return value.boolean() === true ? { kvm: true } : value.fail("kvm is true or absent");
  const setting = value.text(/^[a-z0-9_]+(\.[a-z0-9_-]+)+$/, "the name of a setting, such as fs.inotify.max_user_instances");
  const min = map.get("min").integer(0);
  return setting === undefined || min === undefined ? undefined : { setting, min };
}
