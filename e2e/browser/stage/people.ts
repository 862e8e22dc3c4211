/** Who uses the demonstration, each signed in once. */

import type { Browser, BrowserContext, Page } from "@playwright/test";

import { stage } from "./stage.ts";
import { Terminal } from "./terminal.ts";
import { choosePassword, signIn, test as base } from "./test.ts";

export { expect } from "./test.ts";

/** What a browser keeps of a session. */
export type Session = Awaited<ReturnType<BrowserContext["storageState"]>>;

/** A cluster whose manifest nobody has applied. */
export const WAITING = "waiting";
const FIRST = "good for one thing only";
const CHOSEN = "chosen by the person itself";

/** Names somebody for this worker alone: after a failure another one goes on in the same world. */
function named(name: string, worker: number): string {
  return `${name}-${worker}`;
}

async function session(browser: Browser, use: (page: Page) => Promise<void>): Promise<Session> {
  const context = await browser.newContext({ baseURL: stage.url, ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto("/");
  await use(page);
  await page.getByRole("heading", { name: "Clusters", exact: true }).waitFor();
  const kept = await context.storageState();
  await context.close();
  return kept;
}

/** Nobody's browser. */
export const NOBODY: Session = { cookies: [], origins: [] };

interface People {
  /** The administrator's terminal. */
  terminal: Terminal;
  /** The administrator, who has also begun to import a cluster. */
  administrator: Session;
  /** Somebody who has no rights. */
  visitor: Session;
  /** The name and password of somebody who must choose another one first. */
  newcomer: { name: string; password: string };
}

export const test = base.extend<object, People>({
  terminal: [
    async ({}, use) => {
      const terminal = new Terminal("admin");
      await terminal.logIn("admin", stage.password);
      await use(terminal);
    },
    { scope: "worker" },
  ],
  administrator: [
    async ({ browser, terminal }, use) => {
      await terminal.run(`drover cluster import ${WAITING}`);
      await use(await session(browser, (page) => signIn(page, "admin", stage.password)));
    },
    { scope: "worker" },
  ],
  visitor: [
    async ({ browser, terminal }, use, worker) => {
      const name = named("mary", worker.workerIndex);
      await terminal.createUser(name, FIRST);
      const signedIn = session(browser, async (page) => {
        await signIn(page, name, FIRST);
        await choosePassword(page, CHOSEN);
      });
      await use(await signedIn);
    },
    { scope: "worker" },
  ],
  newcomer: [
    async ({ terminal }, use, worker) => {
      const name = named("newcomer", worker.workerIndex);
      await terminal.createUser(name, FIRST);
      await use({ name, password: FIRST });
    },
    { scope: "worker" },
  ],
});

/** Tests of the administrator's browser. */
export const asAdministrator = test.extend({
  storageState: async ({ administrator }, use) => use(administrator),
});
/** Tests of a browser of somebody without rights. */
export const asVisitor = test.extend({
  storageState: async ({ visitor }, use) => use(visitor),
});
