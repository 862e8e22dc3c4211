/** The themes, as the page knows them. */

import type { Page } from "@playwright/test";

export const THEMES = ["light", "dark", "contrast"] as const;
export type Theme = (typeof THEMES)[number];

/** Shows the page in a theme, as the person's menu does it, without losing what is open. */
export async function showIn(page: Page, theme: Theme): Promise<void> {
  await page.evaluate((theme) => {
    document.documentElement.dataset["theme"] = theme;
  }, theme);
}
