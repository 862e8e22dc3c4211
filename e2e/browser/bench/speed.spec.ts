/** Figures of the page; `drover-bench ui` says which of them are goals. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { APIResponse, Browser, BrowserContext, CDPSession, Page } from "@playwright/test";

import { firstLoad } from "../stage/load.ts";
import { expect, test } from "../stage/people.ts";
import { stage } from "../stage/stage.ts";
import type { Terminal } from "../stage/terminal.ts";
import { signIn } from "../stage/test.ts";

const CLUSTERS = 2_000;
const PODS = 10_000;
const AT_ONCE = 16;
const TURNS = 5;
/** What the goals speak of: a slow line and a slow machine. */
const LINE = { offline: false, latency: 40, downloadThroughput: 20e6 / 8, uploadThroughput: 20e6 / 8 };
const SLOWER = 4;

const figures: Record<string, number> = {};

declare global {
  interface Window {
    /** When the first row of a table was there, in ms since the navigation. */
    firstRowAt?: number;
  }
}

test.setTimeout(400_000);

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Notes in the page when its first row is there. */
async function noteFirstRow(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (document.querySelector("tbody tr:not(.spacer)") === null) return;
      window.firstRowAt = performance.now();
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });
  });
}

async function untilFirstRow(page: Page): Promise<number> {
  const told = await page.waitForFunction(() => window.firstRowAt);
  return (await told.jsonValue()) ?? Number.NaN;
}

/** Loads a page in a new tab, and gives how long the first row took. */
async function load(context: BrowserContext, path: string, slow: boolean): Promise<number> {
  const page = await context.newPage();
  if (slow) {
    const devtools = await context.newCDPSession(page);
    await devtools.send("Network.enable");
    await devtools.send("Network.emulateNetworkConditions", LINE);
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
  }
  await page.goto(path);
  const took = await untilFirstRow(page);
  await page.close();
  return took;
}

/** The time from something that a person does until it is painted. */
async function painted(page: Page, act: string): Promise<number> {
  return page.evaluate(async (act) => {
    const began = performance.now();
    if (act.startsWith("type:")) {
      const field = document.querySelector<HTMLInputElement>(".home-filter input, .run-search input");
      if (field === null) throw new Error("there is no filter");
      field.value = act.slice("type:".length);
      field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    } else {
      document.querySelectorAll<HTMLButtonElement>(".table-sort").forEach((button) => {
        if (button.textContent === act) button.click();
      });
    }
    // The frame that draws the change, and the next one, which begins after drawing.
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    return performance.now() - began;
  }, act);
}

/** Bytes of the heap of JavaScript and of the memory of WebAssembly, after a collection. */
async function heap(devtools: CDPSession): Promise<number> {
  await devtools.send("HeapProfiler.enable");
  await devtools.send("HeapProfiler.collectGarbage");
  await devtools.send("Performance.enable");
  const { metrics } = await devtools.send("Performance.getMetrics");
  const script = metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? Number.NaN;
  const { result } = await devtools.send("Runtime.evaluate", { expression: "WebAssembly.Memory.prototype" });
  const { objects } = await devtools.send("Runtime.queryObjects", { prototypeObjectId: result.objectId ?? "" });
  const sum = await devtools.send("Runtime.callFunctionOn", {
    objectId: objects.objectId ?? "",
    functionDeclaration: "function () { return this.reduce((sum, memory) => sum + memory.buffer.byteLength, 0); }",
    returnByValue: true,
  });
  return script + Number(sum.result.value);
}

/** Makes many things, some at a time. */
async function make(count: number, one: (number: number) => Promise<APIResponse>): Promise<void> {
  let next = 0;
  const some = async () => {
    while (next < count) {
      const answer = await one(next++);
      expect(answer.status(), await answer.text()).toBe(201);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, some));
}

function cluster(number: number): object {
  return {
    name: `fleet-${String(number).padStart(5, "0")}`,
    description: `the ${number}th of a fleet`,
    labels: { env: number % 3 === 0 ? "prod" : "test", region: `r${number % 17}` },
  };
}

/** A pod that nobody places on a node. */
function pod(number: number): object {
  return {
    metadata: { name: `pod-${String(number).padStart(5, "0")}`, labels: { app: `app-${number % 40}` } },
    spec: { schedulerName: "nobody", containers: [{ name: "main", image: "example.org/app:1" }] },
  };
}

/** Opens a list of many, types and sorts in it, and tells the figures under a name. */
async function useList(context: BrowserContext, list: { name: string; path: string; all: RegExp; typed: string[]; sorted: string[] }): Promise<void> {
  const loads: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) loads.push(await load(context, list.path, false));
  figures[`${list.name}_first_rows_ms`] = median(loads);
  const page = await context.newPage();
  await page.goto(list.path);
  await page.getByText(list.all).first().waitFor();
  const [filters, sorts]: [number[], number[]] = [[], []];
  for (const typed of list.typed) filters.push(await painted(page, `type:${typed}`));
  for (const column of list.sorted) sorts.push(await painted(page, column));
  figures[`${list.name}_filter_ms`] = median(filters);
  figures[`${list.name}_sort_ms`] = median(sorts);
  figures[`${list.name}_dom_rows`] = await page.locator("tbody tr").count();
  const devtools = await context.newCDPSession(page);
  figures[`${list.name}_heap_mib`] = (await heap(devtools)) / 2 ** 20;
  await page.close();
}

async function bearer(terminal: Terminal): Promise<Record<string, string>> {
  const told = await terminal.run("drover token create --description=bench --output json");
  return { Authorization: `Bearer ${(JSON.parse(told) as { token: string }).token}` };
}

async function enter(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL: stage.url, ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto("/");
  await signIn(page, "admin", stage.password);
  await page.getByRole("heading", { name: "Clusters", exact: true }).waitFor();
  await page.close();
  return context;
}

test("first load, cold and warm, on a slow network and machine", async ({ browser, page }) => {
  const files = await firstLoad(page);
  figures["first_load_bytes"] = files.reduce((sum, file) => sum + file.bytes, 0);
  figures["first_load_requests"] = files.length;
  const kept = await (await enter(browser)).storageState();
  const [cold, warm]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < TURNS; turn++) {
    // Each context has a separate cache.
    const context = await browser.newContext({ baseURL: stage.url, ignoreHTTPSErrors: true, storageState: kept });
    await noteFirstRow(context);
    cold.push(await load(context, "/", true));
    warm.push(await load(context, "/", true));
    await context.close();
  }
  figures["cold_load_ms"] = median(cold);
  figures["warm_load_ms"] = median(warm);
});

test("the home page of two thousand clusters", async ({ browser, request, terminal }) => {
  const headers = await bearer(terminal);
  const began = performance.now();
  await make(CLUSTERS, (number) => request.post("/v1/clusters", { headers, data: cluster(number) }));
  figures["clusters"] = CLUSTERS;
  figures["make_clusters_s"] = (performance.now() - began) / 1000;
  const context = await enter(browser);
  await noteFirstRow(context);
  await useList(context, {
    name: "clusters",
    path: "/",
    all: /^2\D?003 in total$/,
    typed: ["env=prod", "fleet-01", "region=r5", "waiting -prod", ""],
    sorted: ["Name", "Age", "CPU", "Name", "State"],
  });
  await context.close();
});

test("a list of ten thousand pods", async ({ browser, request, terminal }) => {
  const headers = await bearer(terminal);
  const began = performance.now();
  const path = "/k8s/clusters/demo-small/api/v1/namespaces/default/pods";
  await make(PODS, (number) => request.post(path, { headers, data: pod(number) }));
  figures["pods"] = PODS;
  figures["make_pods_s"] = (performance.now() - began) / 1000;
  const context = await enter(browser);
  await noteFirstRow(context);
  await useList(context, {
    name: "pods",
    path: "/clusters/demo-small/pods?namespace=default",
    all: /^10\D?000 in total$/,
    typed: ["pod-01", "app=app-7", "state:pending", "-app", ""],
    sorted: ["Name", "Age", "Status", "Name", "Age"],
  });
  await context.close();
});

test.afterAll(async () => {
  await writeFile(join(stage.results, "ui-figures.json"), JSON.stringify(figures));
});
