/** axe: what of the rules of WCAG 2.1 AA a program can check. */

import axe from "axe-core";
import { type Page, expect } from "@playwright/test";

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

/** Fails with a line for each element that breaks a rule. */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const broken = await page.evaluate(async (rules) => {
    const checker = (globalThis as unknown as { axe: typeof axe }).axe;
    const found = await checker.run(document, {
      runOnly: { type: "tag", values: rules },
      resultTypes: ["violations"],
      // The style sheet is part of the page; axe would request it again.
      preload: false,
    });
    return found.violations.flatMap(({ id, help, nodes }) =>
      nodes.map((node) => `${id}: ${help}: ${node.target.join(" ")} ${node.failureSummary ?? ""}`),
    );
  }, RULES);
  expect(broken, `${what} breaks no rule of WCAG 2.1 AA`).toEqual([]);
}
