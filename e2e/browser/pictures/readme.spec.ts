/** Takes the screenshots of the demo for README.md; `make pictures` runs this file. */

import { join } from "node:path";

import type { Page } from "@playwright/test";

import { asAdministrator as test } from "../stage/users.ts";
import { type Theme, showIn } from "../stage/theme.ts";

const IMAGES = join(import.meta.dirname, "../../../docs/images");

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly theme: Theme;
  readonly ready: (page: Page) => Promise<void>;
}

const PICTURES: readonly Picture[] = [
  {
    name: "clusters",
    path: "/",
    theme: "light",
    ready: (page) => page.getByRole("row", { name: /demo-troubled/ }).getByText("3 / 4").waitFor(),
  },
  {
    name: "cluster",
    path: "/clusters/demo-troubled",
    theme: "light",
    ready: (page) => page.getByText("3 of 4 ready").waitFor(),
  },
  {
    name: "pods",
    path: "/clusters/demo-troubled/pods",
    theme: "dark",
    ready: (page) => page.getByRole("columnheader", { name: "Memory" }).waitFor(),
  },
  {
    name: "log",
    path: "/clusters/demo-small/pods/shop/store-0?tab=logs",
    theme: "dark",
    ready: (page) => page.getByRole("log", { name: "Log" }).getByText("[simulated]").first().waitFor(),
  },
];

test.use({ viewport: { width: 1360, height: 840 } });

for (const { name, path, theme, ready } of PICTURES) {
  test(`takes the screenshot ${name}`, async ({ page }) => {
    await page.goto(path);
    await ready(page);
    await page.getByText("connecting", { exact: true }).waitFor({ state: "detached" });
    await showIn(page, theme);
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: join(IMAGES, `${name}.png`) });
  });
}
