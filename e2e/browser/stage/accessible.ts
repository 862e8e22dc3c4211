/** Checks the rules of WCAG 2.1 AA that axe can test automatically. */

import axe from "axe-core";
import { type Page, expect } from "@playwright/test";

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

/** Fails with one line for each element that violates a rule. */
export async function expectAccessible(page: Page, screen: string): Promise<void> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const violations = await page.evaluate(async (rules) => {
    const checker = (globalThis as unknown as { axe: typeof axe }).axe;
    const result = await checker.run(document, {
      runOnly: { type: "tag", values: rules },
      resultTypes: ["violations"],
      // The style sheet is part of the page; axe would request it again.
      preload: false,
    });
    return result.violations.flatMap(({ id, help, nodes }) =>
      nodes.map((node) => `${id}: ${help}: ${node.target.join(" ")} ${node.failureSummary ?? ""}`),
    );
  }, RULES);
  expect(violations, `${screen} violates no rule of WCAG 2.1 AA`).toEqual([]);
}
