/** The themes of the UI. */

import type { Page } from "@playwright/test";

export const THEMES = ["light", "dark", "contrast"] as const;
export type Theme = (typeof THEMES)[number];

/** Applies a theme without the account menu, so that open dialogs and menus stay open. */
export async function showIn(page: Page, theme: Theme): Promise<void> {
  await page.evaluate((theme) => {
    document.documentElement.dataset["theme"] = theme;
  }, theme);
}
