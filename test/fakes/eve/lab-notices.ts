import type { XmlElement } from "../../../src/formats/xml/xml.ts";
import { FatalError } from "./answer.ts";
import { LabRefused } from "./lab-xml.ts";
import { withFirstMac } from "./node.ts";
import { missingKey, type NoticeSettings } from "./notice.ts";

/*
 * Notices while a lab is loaded. EVE-NG catches them there, so the answer is not a page: the lab is refused, with PHP's words as the message.
 */

/** Refuses a lab if one of the attributes is missing. Does nothing if notices are hidden. */
export function needs(settings: NoticeSettings, element: XmlElement, keys: readonly string[]): void {
  if (settings.notices === "hidden") return;
  const missing = keys.find((key) => !element.attributes.some(([name]) => name === key));
  if (missing !== undefined) throw new LabRefused(missingKey(settings.php, missing));
}

/** Refuses a lab with a node that needs a MAC address and has none: EVE-NG takes the lab's id for a number to compute one. */
export function needsFirstMac(settings: NoticeSettings, element: XmlElement, labId: string): void {
  const attribute = (key: string) => element.attributes.find(([name]) => name === key)?.[1];
  if (attribute("type") !== "qemu" || !withFirstMac.includes(attribute("template") ?? "") || attribute("firstmac") !== undefined) return;
  if (settings.notices === "hidden") return;
  const leadsWithNumber = /^\d/.test(labId);
  // A TypeError, which nothing in EVE-NG catches.
  if (settings.php === 8 && !leadsWithNumber) throw new FatalError();
  throw new LabRefused(
    settings.php === 7 && leadsWithNumber ? "A non well formed numeric value encountered" : "A non-numeric value encountered",
  );
}
