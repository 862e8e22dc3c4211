/** Opens screens, and checks the properties that every screen must have. */

import { type Page, expect } from "@playwright/test";

import { expectAccessible, expectAccessibleColors } from "../stage/accessible.ts";
import { fakeListProblem } from "../stage/row-service.ts";
import { foreground, textSnapshot } from "../stage/snapshot.ts";
import { THEMES, showIn } from "../stage/theme.ts";
import type { Screen } from "./screens.ts";

const PHONE = { width: 390, height: 844 };

/** Responds to requests with a Kubernetes Status, like an API server. */
async function fakeResponse(page: Page, { to, code, message }: NonNullable<Screen["fakeResponse"]>): Promise<void> {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code, message };
  await page.route(to, (route) => route.fulfill({ status: code, json: status }));
}

/** Replaces the shared address in the server's response. */
async function fakeSharedAddress(page: Page, sharedAddress: Screen["sharedAddress"]): Promise<void> {
  await page.route("**/v1/version", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), sharedAddress } });
  });
}

/** Opens a screen, with the responses that the test fakes. */
export async function openScreen(page: Page, screen: Screen): Promise<void> {
  if (screen.fakeResponse !== undefined) await fakeResponse(page, screen.fakeResponse);
  if (screen.fakeList !== undefined) await fakeListProblem(page, screen.fakeList.plural, screen.fakeList);
  if (screen.sharedAddress !== undefined) await fakeSharedAddress(page, screen.sharedAddress);
  await page.goto(screen.path);
  await screen.then?.(page);
  await screen.ready(page);
}

/** Expects that the screen matches its text snapshot, is accessible in all themes, and fits a phone. */
export async function expectScreenQuality(page: Page, name: string, stable = true): Promise<void> {
  await expect(page.getByText("connecting", { exact: true })).toHaveCount(0);
  if (stable) await expectTextSnapshot(page, `${name}.txt`);
  await expectAccessible(page, name);
  for (const theme of THEMES) {
    await showIn(page, theme);
    await expectAccessibleColors(page, `${name} in ${theme}`);
  }
  await page.setViewportSize(PHONE);
  expect(await overflowing(page), `${name} has no horizontal scrolling on a phone`).toEqual([]);
}

/** Expects that the screen matches its text snapshot, and retries because usage data can load later. */
async function expectTextSnapshot(page: Page, file: string): Promise<void> {
  const matches = async () => expect(await textSnapshot(await foreground(page))).toMatchSnapshot(file);
  await expect(matches).toPass({ timeout: 15_000 });
}

/** Lists the containers whose content is wider than the container. */
async function overflowing(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const containers = [document.documentElement, ...document.querySelectorAll("main, dialog[open], .rail, .table-scroll")];
    return containers
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(({ tagName, className, scrollWidth, clientWidth }) => `${tagName}.${className}: ${scrollWidth} > ${clientWidth}`);
  });
}
