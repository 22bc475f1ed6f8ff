import { durationText, readDuration } from "../../base/time/duration.ts";
import type { Problems } from "../diagnostics/problems.ts";
import { type LabLease, type LeaseEnd, leaseEnds, leaseLimits } from "../lab/lab.ts";
import { leaseVocabulary } from "../lab/vocabulary.ts";
import { checkKeys, type Field, fieldOf, invalid, readMap, readText } from "./fields.ts";

const example = "write 8h, or {for: 8h, idle: 2h, then: stop}";

/** Reads `lease`: a duration, or a map. */
export function readLease(problems: Problems, at: Field): LabLease | undefined {
  if (at.value.kind === "list") return invalid(problems, at, "a lease is a duration or a map", example);
  if (at.value.kind === "scalar") {
    const seconds = readTime(problems, at);
    return seconds === undefined ? undefined : { for: seconds, atEnd: "stop" };
  }
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  checkKeys(problems, map, at.path, leaseVocabulary);
  const [forAt, idleAt, thenAt] = ["for", "idle", "then"].map((key) => fieldOf(map, key, at.path));
  if (forAt === undefined && idleAt === undefined) return invalid(problems, at, "a lease needs a time, an idle time, or both", example);
  const time = forAt && readTime(problems, forAt);
  const idle = idleAt && readTime(problems, idleAt);
  const atEnd = thenAt === undefined ? "stop" : readEnd(problems, thenAt);
  if (atEnd === undefined || (time === undefined && idle === undefined)) return undefined;
  return { ...(time !== undefined && { for: time }), ...(idle !== undefined && { idle }), atEnd };
}

function readEnd(problems: Problems, at: Field): LeaseEnd | undefined {
  const text = readText(problems, at);
  if (text === undefined) return undefined;
  const end = leaseEnds.find((one) => one === text);
  return end ?? invalid(problems, at, `${JSON.stringify(text.slice(0, 60))} is none of ${leaseEnds.join(", ")}`);
}

function readTime(problems: Problems, at: Field): number | undefined {
  const text = readText(problems, at);
  if (text === undefined) return undefined;
  const seconds = readDuration(text);
  const given = JSON.stringify(text.slice(0, 60));
  if (seconds === undefined)
    return invalid(problems, at, `${given} is not a duration`, "write days, hours and minutes, such as 8h, 90m or 1d12h");
  const { min, max } = leaseLimits;
  if (seconds >= min && seconds <= max) return seconds;
  return invalid(problems, at, `${given} is not between ${durationText(min)} and ${durationText(max)}`);
}
