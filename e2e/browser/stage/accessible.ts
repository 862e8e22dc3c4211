/** Checks the rules of WCAG 2.1 AA that axe can test automatically. */

import axe from "axe-core";
import { type Page, expect } from "@playwright/test";

import { showIn } from "./theme.ts";

const ALL_RULES: axe.RunOnly = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] };
/** The rules whose result depends on colors. */
const COLOR_RULES: axe.RunOnly = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/** Fails with one line for each element that violates a rule. */
export function expectAccessible(page: Page, screen: string): Promise<void> {
  return expectNoViolation(page, screen, ALL_RULES);
}

/** Checks all rules in the light and the dark theme. */
export async function expectAccessibleInThemes(page: Page, screen: string): Promise<void> {
  for (const theme of ["light", "dark"] as const) {
    await showIn(page, theme);
    await expectAccessible(page, `${screen} (${theme})`);
  }
}

/** As {@link expectAccessible}, for a screen whose other rules are checked in another theme. */
export function expectAccessibleColors(page: Page, screen: string): Promise<void> {
  return expectNoViolation(page, screen, COLOR_RULES);
}

async function expectNoViolation(page: Page, screen: string, rules: axe.RunOnly): Promise<void> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const violations = await page.evaluate(async (runOnly) => {
    const checker = (globalThis as unknown as { axe: typeof axe }).axe;
    const result = await checker.run(document, {
      runOnly,
      resultTypes: ["violations"],
      // The style sheet is part of the page; axe would request it again.
      preload: false,
    });
    return result.violations.flatMap(({ id, help, nodes }) =>
      nodes.map((node) => `${id}: ${help}: ${node.target.join(" ")} ${node.failureSummary ?? ""}`),
    );
  }, rules);
  expect(violations, `${screen} violates no rule of WCAG 2.1 AA`).toEqual([]);
}
