/** Keys of lists, the lines of the usage, the selection of rows, and the plan of an action on several objects. */

import type { Locator, Page } from "@playwright/test";

import { expectAccessible } from "../stage/accessible.ts";
import { asAdministrator as test, expect } from "../stage/users.ts";

const PODS = "/clusters/demo-large/pods";

const dialog = (page: Page): Locator => page.getByRole("dialog");
const links = (page: Page): Locator => page.locator("tr[data-row] a");

async function openPods(page: Page): Promise<void> {
  await page.goto(PODS);
  await links(page).first().waitFor();
}

/** Returns the ARIA index of the focused row. */
function focusedRow(page: Page): Promise<number> {
  return page.evaluate(() => Number(document.activeElement?.closest("tr")?.getAttribute("aria-rowindex") ?? 0));
}

/** Reports whether the line of a usage cell of a width is beside the text, and not hidden below it. */
function lineIsVisible(usage: HTMLElement | SVGElement, width: number): boolean {
  usage.style.width = `${width}px`;
  const line = usage.querySelector("svg");
  return line !== null && line.getBoundingClientRect().bottom <= usage.getBoundingClientRect().bottom + 1;
}

test("keys move the focus to each row of a long list", async ({ page }) => {
  await openPods(page);
  const count = Number(await page.locator("table").first().getAttribute("aria-rowcount"));
  expect(count, "the page renders only a part of the list").toBeGreaterThan(1 + (await page.locator("tr[data-row]").count()));
  await page.keyboard.press("j");
  await expect.poll(() => focusedRow(page)).toBe(2);
  // The columns of the usage arrive later, and the row keeps the focus.
  await page.getByRole("columnheader", { name: "Memory" }).waitFor();
  await expect.poll(() => focusedRow(page)).toBe(2);
  await page.keyboard.press("j");
  await expect.poll(() => focusedRow(page)).toBe(3);
  await page.keyboard.press("k");
  await expect.poll(() => focusedRow(page)).toBe(2);
  await page.keyboard.press("G");
  await expect.poll(() => focusedRow(page)).toBe(count);
  await page.keyboard.press("g");
  await expect.poll(() => focusedRow(page)).toBe(2);
  await page.keyboard.press("/");
  await page.keyboard.type("jjj");
  await expect(page.getByRole("searchbox", { name: "Filter Pods" })).toHaveValue("jjj");
});

test("usage of a node has a line from its second measurement, which never truncates texts", async ({ page }) => {
  await page.setViewportSize({ width: 1920, height: 800 });
  await page.goto("/clusters/demo-large/nodes");
  const usage = page.locator("tr[data-row] .usage");
  await expect(usage.first()).toHaveAttribute("title", /^Lowest \S+, highest \S+ in the last \d+s$/, { timeout: 45_000 });
  await expect(usage.first().locator("polyline")).toHaveAttribute("points", /^[\d.]+,[\d.]+( [\d.]+,[\d.]+)+$/);
  expect(await usage.first().evaluate(lineIsVisible, 100), "the cell has no space for the line").toBe(false);
  expect(await usage.first().evaluate(lineIsVisible, 160), "the cell has space for the line").toBe(true);
  for (const width of [1920, 1280, 1000]) {
    await page.setViewportSize({ width, height: 800 });
    const truncated = await usage.locator(".truncate").evaluateAll((all) => all.filter((text) => text.scrollWidth > text.clientWidth).length);
    expect(truncated, `truncated texts at ${width} px`).toBe(0);
  }
});

test("suggestions complete the filter with the keyboard", async ({ page }) => {
  await openPods(page);
  await page.keyboard.press("/");
  await page.keyboard.type("st");
  const options = page.getByRole("option");
  await expect(options).toHaveText(["state:", "status:"]);
  await expectAccessible(page, "suggestions of a filter");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.type("fai");
  await expect(options).toHaveText(["state:failing"]);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const filter = page.getByRole("searchbox", { name: "Filter Pods" });
  await expect(filter).toHaveValue("state:failing");
  await expect(options).toHaveCount(0);
  await expect(page).toHaveURL(/q=state/);
  // Escape closes the suggestions and keeps the text.
  await page.keyboard.type(" na");
  await expect(options).toHaveText(["name:", "namespace:"]);
  await page.keyboard.press("Escape");
  await expect(options).toHaveCount(0);
  await expect(filter).toHaveValue("state:failing na");
});

test("keys select rows and open the views of an object", async ({ page }) => {
  await openPods(page);
  await page.keyboard.press("j");
  await page.keyboard.press(" ");
  await expect(page.getByText("1 selected", { exact: true })).toBeVisible();
  const count = Number(await page.locator("table").first().getAttribute("aria-rowcount")) - 1;
  await page.getByRole("button", { name: /^Select all [0-9]+ matches$/ }).click();
  await expect(page.getByText(`${count} selected`, { exact: true })).toBeVisible();
  await links(page).first().focus();
  await page.keyboard.press("Escape");
  await expect(page.getByText(`${count} selected`, { exact: true })).toBeHidden();
  await page.keyboard.press("y");
  await expect(page).toHaveURL(/\?tab=yaml/);
  await page.goBack();
  await links(page).first().waitFor();
  await links(page).first().focus();
  await page.keyboard.press("l");
  await expect(page).toHaveURL(/\?tab=logs/);
});

test("single-character keys can be turned off", async ({ page }) => {
  await openPods(page);
  await page.keyboard.press("?");
  await expect(dialog(page).getByRole("row", { name: /Delete the selected objects/ })).toBeVisible();
  await expectAccessible(page, "keyboard shortcuts");
  await dialog(page).getByLabel("Single-character keys").uncheck();
  await page.keyboard.press("Escape");
  await expect(dialog(page)).toBeHidden();
  await links(page).first().focus();
  await page.keyboard.press("y");
  await page.keyboard.press("?");
  await page.keyboard.press("ArrowDown");
  await expect.poll(() => focusedRow(page)).toBe(3);
  await expect(page).toHaveURL(new RegExp(`${PODS}$`));
  await page.keyboard.press("Control+d");
  await expect(dialog(page).getByRole("heading", { name: "Delete 1 Pod" })).toBeVisible();
});
