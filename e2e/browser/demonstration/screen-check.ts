/** The checks that every screen must pass. */

import { type Page, expect } from "@playwright/test";

import { expectAccessible, expectAccessibleColors } from "../stage/accessible.ts";
import { foreground, textSnapshot } from "../stage/snapshot.ts";
import { THEMES, showIn } from "../stage/theme.ts";

const PHONE = { width: 390, height: 844 };

/** Expects that the screen matches its text snapshot, is accessible in all themes, and fits a phone. */
export async function expectScreenQuality(page: Page, name: string, stable = true): Promise<void> {
  await expect(page.getByText("connecting", { exact: true })).toHaveCount(0);
  if (stable) await expectTextSnapshot(page, `${name}.txt`);
  await expectAccessible(page, name);
  for (const theme of THEMES) {
    await showIn(page, theme);
    await expectAccessibleColors(page, `${name} in ${theme}`);
  }
  await page.setViewportSize(PHONE);
  expect(await overflowing(page), `${name} has no horizontal scrolling on a phone`).toEqual([]);
}

/** Expects that the screen matches its text snapshot, and retries because usage data can load later. */
async function expectTextSnapshot(page: Page, file: string): Promise<void> {
  const matches = async () => expect(await textSnapshot(await foreground(page))).toMatchSnapshot(file);
  await expect(matches).toPass({ timeout: 15_000 });
}

/** Lists the containers whose content is wider than the container. */
async function overflowing(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const containers = [document.documentElement, ...document.querySelectorAll("main, dialog[open], .rail, .table-scroll")];
    return containers
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(({ tagName, className, scrollWidth, clientWidth }) => `${tagName}.${className}: ${scrollWidth} > ${clientWidth}`);
  });
}
