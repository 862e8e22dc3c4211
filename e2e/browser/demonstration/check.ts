/** What is asked of every screen. */

import { type Page, expect } from "@playwright/test";

import { expectAccessible } from "../stage/accessible.ts";
import { inFront, reading } from "../stage/reading.ts";
import { THEMES, showIn } from "../stage/theme.ts";

const TELEPHONE = { width: 390, height: 844 };

/** It reads as it is kept, breaks no rule in any theme, and fits a telephone. */
export async function expectWellMade(page: Page, name: string, steady = true): Promise<void> {
  await expect(page.getByText("connecting", { exact: true })).toHaveCount(0);
  if (steady) await expectReading(page, `${name}.txt`);
  for (const theme of THEMES) {
    await showIn(page, theme);
    await expectAccessible(page, `${name} in ${theme}`);
  }
  await page.setViewportSize(TELEPHONE);
  expect(await tooWide(page), `${name} needs no scrolling sideways on a telephone`).toEqual([]);
}

/** It reads as it is kept; what comes a moment later, such as what is used of a cluster, is waited for. */
async function expectReading(page: Page, kept: string): Promise<void> {
  const reads = async () => expect(await reading(await inFront(page))).toMatchSnapshot(kept);
  await expect(reads).toPass({ timeout: 15_000 });
}

/** What is wider than its place, though it is none that is meant to scroll. */
async function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const places = [document.documentElement, ...document.querySelectorAll("main, dialog[open], .rail, .table-place")];
    return places
      .filter((place) => place.scrollWidth > place.clientWidth)
      .map((place) => `${place.tagName}.${place.className}: ${place.scrollWidth} > ${place.clientWidth}`);
  });
}
