import type { Page } from "@playwright/test";

import { SIGNED_OUT, asAdministrator, expect, test } from "../stage/users.ts";
import { THEMES, showIn } from "../stage/theme.ts";
import { openScreen } from "./screen-check.ts";
import { SCREENS } from "./screens.ts";

const SIZE = { width: 1080, height: 680 };

/** The screens with a reference in the light theme: the screens and dialogs without changing values. */
const IN_LIGHT_THEME = [
  "list-of-workloads",
  "list-without-permission",
  "list-of-unserved-kind",
  "cluster-not-found",
  "import-form",
  "create-role",
  "settings",
  "projects",
  "check-access",
  "change-password",
  "page-not-found",
  "kit-table",
  "create-token",
  "create-user",
  "create-oidc-provider",
  "save-view",
  "delete-cluster",
  "sign-out-everywhere",
];

/** Compares a screenshot of the element with the reference in each theme; masks the `changing` selectors. */
async function expectScreenshots(page: Page, name: string, changing: string[] = [], element = "main"): Promise<void> {
  await page.setViewportSize(SIZE);
  await page.evaluate(() => document.fonts.ready);
  const mask = changing.map((selector) => page.locator(selector));
  for (const theme of THEMES) {
    await showIn(page, theme);
    await expect.soft(page.locator(element)).toHaveScreenshot(`${name}-${theme}.png`, { mask });
  }
}

asAdministrator("form components match the reference screenshots", async ({ page }) => {
  await page.goto("/kit");
  await page.getByRole("heading", { name: "Fields" }).waitFor();
  await expectScreenshots(page, "kit-forms");
});

asAdministrator("state and notice components match the reference screenshots", async ({ page }) => {
  await page.goto("/kit?part=states");
  await page.getByRole("heading", { name: "Banners" }).waitFor();
  await expectScreenshots(page, "kit-states");
});

asAdministrator("list of clusters matches the reference screenshots", async ({ page }) => {
  await page.goto("/?q=demo");
  await page.getByRole("row", { name: /demo-troubled/ }).getByText("3 / 4").waitFor();
  await expectScreenshots(page, "all-clusters", ["td.col-age", "td.col-load", ".tally"]);
});

for (const screen of SCREENS.filter(({ name }) => IN_LIGHT_THEME.includes(name))) {
  asAdministrator(`screen ${screen.name} matches the reference screenshot`, async ({ page }) => {
    await page.setViewportSize(SIZE);
    await openScreen(page, screen);
    await page.evaluate(() => document.fonts.ready);
    const mask = [page.locator("td.col-age")];
    const dialog = page.getByRole("dialog");
    const element = (await dialog.count()) > 0 ? dialog : page.locator("main");
    await expect(element).toHaveScreenshot(`${screen.name}-light.png`, { mask, caret: "hide" });
  });
}

test.describe("sign-in page", () => {
  test.use({ storageState: SIGNED_OUT });
  test("sign-in page matches the reference screenshots", async ({ page }) => {
    await page.goto("/");
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    // The caret of a focused field blinks, so the test moves the focus.
    await page.getByRole("heading", { name: "Sign in" }).click();
    await expectScreenshots(page, "sign-in", [".sign-in-foot code"], ".sign-in-card");
  });
});
