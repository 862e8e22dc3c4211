/** Saved views and preferences in two browsers of one user. */

import type { Page } from "@playwright/test";

import { expectAccessible } from "../stage/accessible.ts";
import { stage } from "../stage/stage.ts";
import { chooseFromMenu, signIn } from "../stage/test.ts";
import { asAdministrator as test, expect } from "../stage/users.ts";

const NODES = "/objects/nodes?q=worker&sort=-name";

async function openViews(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Views / }).click();
}

async function signInAgain(page: Page): Promise<void> {
  await page.goto("/");
  await signIn(page, "admin", stage.password);
  await page.getByRole("heading", { name: "Clusters", exact: true }).waitFor();
}

test("saved view opens in a second browser, and its owner renames, shares and deletes the view", async ({ page, open }) => {
  await page.goto(NODES);
  await openViews(page);
  await page.getByRole("menuitem", { name: "Save this view…" }).click();
  const form = page.getByRole("dialog", { name: "Save view" });
  await form.getByLabel("Name", { exact: true }).fill("Workers");
  await form.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved the view Workers").waitFor();

  const other = await open();
  await signInAgain(other);
  await expect(async () => {
    await openViews(other);
    await other.getByRole("menuitem", { name: "Workers" }).click({ timeout: 2_000 });
  }).toPass();
  await expect(other).toHaveURL(NODES);
  await expect(other.getByRole("searchbox", { name: "Filter Nodes" })).toHaveValue("worker");

  await openViews(other);
  await other.getByRole("menuitem", { name: "Manage views…" }).click();
  await other.getByRole("button", { name: "Edit Workers" }).click();
  const edit = other.getByRole("dialog", { name: "Edit view" });
  await edit.getByLabel("Name", { exact: true }).fill("All workers");
  await edit.getByLabel("Visible to").selectOption("All users");
  await edit.getByRole("button", { name: "Save", exact: true }).click();
  await other.getByText("Saved the view All workers").waitFor();

  await page.goto("/about");
  await page.getByRole("heading", { name: "About", exact: true }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("All workers");
  await page.getByRole("option", { name: /^All workers view$/ }).waitFor();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(NODES);

  await expect(async () => {
    await openViews(page);
    await page.getByRole("menuitem", { name: "Manage views…" }).click({ timeout: 2_000 });
  }).toPass();
  const manage = page.getByRole("dialog", { name: "Saved views" });
  await expect(manage.getByText("All users", { exact: true })).toBeVisible();
  await expectAccessible(page, "dialog with saved views");
  await manage.getByRole("button", { name: "Delete All workers" }).click();
  await page.getByRole("dialog", { name: "Delete the view All workers?" }).getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("Deleted the view All workers").waitFor();
  await expect(manage.getByText("No saved views.", { exact: false })).toBeVisible();
});

test("row height and theme apply in a second browser of the user", async ({ page, open }) => {
  await page.goto("/about");
  for (const item of ["Compact rows", "Dark"]) {
    const stored = page.waitForResponse((response) => response.url().endsWith("/v1/preferences") && response.request().method() === "PUT");
    await chooseFromMenu(page, item);
    expect((await stored).status()).toBe(200);
  }

  const other = await open();
  await signInAgain(other);
  await expect(other.locator("html")).toHaveAttribute("data-density", "compact");
  await expect(other.locator("html")).toHaveAttribute("data-theme", "dark");
  // The browser stores a copy for the first paint.
  expect(await other.evaluate(() => localStorage.getItem("drover-density"))).toBe("compact");

  // A change in the second browser keeps the preference that only the first browser changed.
  const stored = other.waitForResponse((response) => response.url().endsWith("/v1/preferences") && response.request().method() === "PUT");
  await chooseFromMenu(other, "Spacious rows");
  expect(await (await stored).json()).toMatchObject({ rowHeight: "Spacious", theme: "Dark" });
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-density", "spacious");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});
