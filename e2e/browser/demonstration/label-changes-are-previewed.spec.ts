import type { Page } from "@playwright/test";

import { asAdministrator as test, expect } from "../stage/users.ts";

const SELECTED = ["demo-large", "demo-small"];
const LABEL = "tried-by=browser";

async function choose(page: Page): Promise<void> {
  for (const name of SELECTED) await page.getByRole("checkbox", { name: `Select ${name}`, exact: true }).check();
  await page.getByText("2 selected", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Edit labels…" }).click();
}

test("labels of many clusters are previewed before they change", async ({ page, terminal }) => {
  const labelled = async () => {
    const list = JSON.parse(await terminal.run("drover cluster list --output json")) as {
      items: { name: string; labels?: Record<string, string> }[];
    };
    return list.items.filter(({ labels }) => labels?.["tried-by"] === "browser").map(({ name }) => name).sort();
  };
  await page.goto("/");
  await choose(page);
  const dialog = page.getByRole("dialog", { name: "Labels" });
  await dialog.getByLabel("Set", { exact: true }).fill(LABEL);
  await expect(dialog.getByText(`sets ${LABEL} on 2 clusters`)).toBeVisible();
  expect(await labelled(), "the preview changes no labels").toEqual([]);
  await dialog.getByRole("button", { name: "Change 2 clusters" }).click();
  await page.getByText("Changed the labels of 2 clusters.").waitFor();
  await expect(dialog).toBeHidden();
  expect(await labelled()).toEqual(SELECTED);

  await page.getByLabel("Filter clusters").fill(LABEL);
  await expect(page.getByRole("row").getByRole("link")).toHaveText(SELECTED);
  await page.getByRole("button", { name: "Edit labels…" }).click();
  await dialog.getByRole("checkbox", { name: /tried-by/ }).check();
  await expect(dialog.getByText("removes tried-by from 2 clusters (before: browser)")).toBeVisible();
  await dialog.getByRole("button", { name: "Change 2 clusters" }).click();
  await page.getByRole("heading", { name: "No results" }).waitFor();
  expect(await labelled()).toEqual([]);
});
