import { expect, test } from "vitest";
import type { PlanData } from "../../../contract/schemas/plan.ts";
import { isUnapplied } from "./use-preview.ts";

const text = (yaml: string) => ({ yaml, files: {} });
const plan = (...actions: readonly object[]) => ({ actions }) as unknown as PlanData;
const none = { isPending: false };

test("a text is drawn and offered to Apply while it is edited or the host lacks a part of it, and not as soon as the host has all", () => {
  const stored = text("name: a");
  expect(isUnapplied(true, stored, none, plan())).toBe(true);
  expect(isUnapplied(false, stored, none, undefined)).toBe(false);
  expect(isUnapplied(false, stored, none, plan({}))).toBe(true);
  expect(isUnapplied(false, stored, none, plan())).toBe(false);
});

test("a saved text stays drawn before it is compared with the host again, and a discarded one does not", () => {
  const preview = { plan: plan({}), intent: text("name: mine"), isPending: false };
  expect(isUnapplied(false, text("name: mine"), preview, plan())).toBe(true);
  expect(isUnapplied(false, text("name: base"), preview, plan())).toBe(false);
});
