import type { Page } from "@playwright/test";

import { NOBODY, asAdministrator, expect, test } from "../stage/people.ts";
import { THEMES, showIn } from "../stage/theme.ts";

const SIZE = { width: 1080, height: 680 };

/** A picture of the screen in each theme; `changing` is covered, since it shows how the time goes by. */
async function expectLooks(page: Page, name: string, changing: string[] = [], place = "main"): Promise<void> {
  await page.setViewportSize(SIZE);
  await page.evaluate(() => document.fonts.ready);
  const mask = changing.map((place) => page.locator(place));
  for (const theme of THEMES) {
    await showIn(page, theme);
    await expect.soft(page.locator(place)).toHaveScreenshot(`${name}-${theme}.png`, { mask });
  }
}

asAdministrator("the kit's forms look as they were designed", async ({ page }) => {
  await page.goto("/kit");
  await page.getByRole("heading", { name: "Fields" }).waitFor();
  await expectLooks(page, "kit-forms");
});

asAdministrator("the kit's words look as they were designed", async ({ page }) => {
  await page.goto("/kit?part=words");
  await page.getByRole("heading", { name: "Banners" }).waitFor();
  await expectLooks(page, "kit-words");
});

asAdministrator("all clusters look as they were designed", async ({ page }) => {
  await page.goto("/?q=demo");
  await page.getByRole("row", { name: /demo-troubled/ }).getByText("3 / 4").waitFor();
  await expectLooks(page, "all-clusters", ["td.col-age", "td.col-load", ".tally"]);
});

test.describe("before the door", () => {
  test.use({ storageState: NOBODY });
  test("sign-in looks as it was designed", async ({ page }) => {
    await page.goto("/");
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    // The caret blinks where the focus is.
    await page.getByRole("heading", { name: "Sign in" }).click();
    await expectLooks(page, "sign-in", [".door-foot code"], ".door-card");
  });
});
