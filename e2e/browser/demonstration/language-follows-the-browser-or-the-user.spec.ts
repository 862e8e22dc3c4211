import type { Page } from "@playwright/test";

import { expectAccessible } from "../stage/accessible.ts";
import { asAdministrator, expect, test } from "../stage/users.ts";

const PHONE = { width: 375, height: 740 };

async function expectLanguage(page: Page, tag: string, heading: string): Promise<void> {
  await page.getByRole("heading", { name: heading, exact: true }).waitFor();
  await expect(page.locator("html")).toHaveAttribute("lang", tag);
}

async function expectFitsPhone(page: Page): Promise<void> {
  await page.setViewportSize(PHONE);
  const excess = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  await expect.poll(excess).toBeLessThanOrEqual(0);
}

test("sign-in page is German in a German browser", async ({ open }) => {
  const page = await open({ locale: "de-DE" });
  await page.goto("/");
  await page.getByRole("button", { name: "Anmelden", exact: true }).waitFor();
  await expectLanguage(page, "de", "Anmelden");
  await expect(page.getByLabel("Benutzername", { exact: true })).toBeVisible();
  await expectAccessible(page, "German sign-in page");
  await expectFitsPhone(page);
});

test("page is English in a browser without German and English", async ({ open }) => {
  const page = await open({ locale: "fr-FR" });
  await page.goto("/");
  await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
  await expect(page.locator("html")).toHaveAttribute("lang", "en");
});

asAdministrator("account menu changes the language", async ({ open, administrator }) => {
  const page = await open({ locale: "de-DE", storageState: administrator });
  await page.goto("/");
  await expectLanguage(page, "de", "Cluster");
  const troubled = page.getByRole("row", { name: /demo-troubled/ });
  await expect(troubled.getByText("beeinträchtigt").or(troubled.getByText(/Node .* NotReady/))).toBeVisible();
  await expectAccessible(page, "German list of clusters");

  await page.getByRole("button", { name: /Konto und Design$/ }).click();
  await page.getByRole("menuitemradio", { name: "English" }).click();
  await expectLanguage(page, "en", "Clusters");
  await page.reload();
  await expectLanguage(page, "en", "Clusters");

  await page.getByRole("button", { name: /Account and theme$/ }).click();
  await expect(page.getByRole("menuitemradio", { name: "English" })).toBeChecked();
  await page.getByRole("menuitemradio", { name: "Browser language" }).click();
  await expectLanguage(page, "de", "Cluster");
  expect(await page.evaluate(() => localStorage.getItem("drover-language"))).toBeNull();
  await expectFitsPhone(page);
});

asAdministrator("palette changes the language, and formats of dates and numbers follow", async ({ page }) => {
  await page.goto("/about");
  await expectLanguage(page, "en", "About");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("language: deutsch");
  await page.getByRole("option", { name: "Language: Deutsch" }).waitFor();
  await page.keyboard.press("Enter");
  await expectLanguage(page, "de", "Info");
  await expect(page.getByText(/^\d{1,2}\.\d{1,2}\.\d{4}, \d{2}:\d{2}:\d{2}/)).toBeVisible();

  await page.goto("/");
  await expect(page.getByRole("cell", { name: /von 7,6 / })).toBeVisible();
});
