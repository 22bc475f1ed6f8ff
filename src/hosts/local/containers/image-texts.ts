import { interfaceNames } from "../../../base/names/interface-names.ts";
import type { LocalImage } from "../images/images.ts";
import type { AddedVmImage } from "../vm-images/add-vm-image.ts";

export function shownImage({ name, description, size, modified, layers, container, pulled, fetched }: LocalImage) {
  return {
    name,
    kind: "container",
    description,
    size_bytes: size,
    modified_at: modified,
    layers: layers.length,
    ...container,
    ...(pulled !== undefined && { pulled }),
    ...(fetched !== undefined && { fetched }),
  };
}

export function tableOf(images: readonly LocalImage[], usersOf: (name: string) => string): string {
  const rows = images.map(({ name, size, layers, modified, container, pulled, fetched }) => [
    name,
    megabytes(size),
    String(layers.length),
    modified,
    pulled?.registry ?? (fetched === undefined ? "file" : `machine ${fetched.machine}`),
    usersOf(name),
    [...(container?.entrypoint ?? []), ...(container?.command ?? [])].join(" "),
  ]);
  return aligned([["NAME", "SIZE", "LAYERS", "ADDED", "FROM", "USED BY", "RUNS"], ...rows]);
}

export function vmTableOf(images: readonly LocalImage[], usersOf: (name: string) => string): string {
  const rows = images.map(({ name, size, modified, vm }) => [
    name,
    megabytes(size),
    String(vm?.disks.length ?? 0),
    String(vm?.cdroms.length ?? 0),
    modified,
    vm?.template ?? "-",
    usersOf(name),
    vm?.from ?? "-",
  ]);
  return aligned([["NAME", "SIZE", "DISKS", "CDS", "ADDED", "TEMPLATE", "USED BY", "FROM"], ...rows]);
}

function aligned(all: readonly (readonly string[])[]): string {
  const last = (all[0]?.length ?? 0) - 1;
  const widths = Array.from({ length: last }, (_, column) => Math.max(...all.map((row) => row[column]!.length)));
  // Texts of an image must not control the terminal.
  return all
    .map((row) =>
      printable(
        row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join("  ")
          .trimEnd(),
      ),
    )
    .join("\n");
}

export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e\xa0-\uffff]/g, "?");
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

export function shownVmImage({ name, description, size, modified, vm }: LocalImage) {
  return {
    name,
    kind: "vm",
    description,
    size_bytes: size,
    modified_at: modified,
    disks: vm?.disks.length ?? 0,
    cdroms: vm?.cdroms.length ?? 0,
    ...(vm?.template !== undefined && { template: vm.template }),
    ...(vm?.from !== undefined && { from: vm.from }),
  };
}

export function shownAddedVm({ name, template, by, disks, cdroms, size }: AddedVmImage) {
  const { software } = template;
  return {
    name,
    kind: "vm",
    template: template.id,
    template_by: by,
    size_bytes: size,
    disks,
    cdroms,
    ...(software !== undefined && { software: software.name }),
    ...(software?.license !== undefined && { license: software.license }),
  };
}

/** Describes an added image: its template, the machine of its nodes, the licence that it needs, and how a lab names it. */
export function addedVmText({ name, template, by, disks, cdroms, size }: AddedVmImage): string {
  const { software, vm, ethFormat, maxInterfaces } = template;
  const parts = [`${disks} ${disks === 1 ? "disk" : "disks"}`, ...(cdroms > 0 ? ["1 CD"] : []), megabytes(size)];
  const names = interfaceNames(ethFormat, Math.min(3, maxInterfaces)).join(", ");
  const hint =
    by === "default" ? [`  no template knows this file name; --template NAME --replace chooses another one than ${template.id}`] : [];
  const license = software?.license === undefined ? [] : [`  ${software.name} needs ${software.license}`];
  return [
    `${name}: added, ${parts.join(", ")}, for template ${template.id}${software === undefined ? "" : ` (${software.name})`}`,
    ...hint,
    `  ${vm?.cpu} ${vm?.cpu === 1 ? "CPU" : "CPUs"}, ${vm?.ram} MiB, interfaces ${names} … of model ${vm?.nic}, disks on ${vm?.["disk-bus"]}`,
    ...license,
    `  in a lab: {template: ${template.id}, image: ${name}}`,
  ].join("\n");
}
