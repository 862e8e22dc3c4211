/** Measures the UI; `drover-bench ui` compares the results with the goals. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chromium } from "@playwright/test";
import type { APIResponse, Browser, BrowserContext, CDPSession, Page } from "@playwright/test";

import { firstLoad } from "../stage/first-load.ts";
import { expect, test } from "../stage/users.ts";
import { stage } from "../stage/stage.ts";
import type { Terminal } from "../stage/terminal.ts";
import { signIn } from "../stage/test.ts";

const CLUSTERS = 2_000;
const PODS = 10_000;
/** The pods of all clusters of the demonstration together. */
const ALL_PODS = 100_000;
const CLUSTERS_WITH_PODS = ["demo-small", "demo-large", "demo-troubled"];
const CONCURRENCY = 16;
const REPETITIONS = 5;
/** The duration of a user's first visit in ms, before the warm load. */
const FIRST_VISIT = 8_000;
/** The emulated network of the load goals: 20 Mbit/s, 40 ms latency. */
const SLOW_NETWORK = { offline: false, latency: 40, downloadThroughput: 20e6 / 8, uploadThroughput: 20e6 / 8 };
/** The emulated CPU of the load goals: 4 times slower. */
const CPU_SLOWDOWN = 4;

const figures: Record<string, number> = {};

declare global {
  interface Window {
    /** Time at which the first table row appeared, in ms since the navigation. */
    firstRowAt?: number;
    /** The memories of the WebAssembly modules of the page. */
    memories?: Set<WebAssembly.Memory>;
  }
}

test.setTimeout(400_000);

function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Records the time at which the first table row appears. */
async function recordFirstRow(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (document.querySelector("tbody tr:not(.spacer)") === null) return;
      window.firstRowAt = performance.now();
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });
  });
}

async function untilFirstRow(page: Page): Promise<number> {
  const time = await page.waitForFunction(() => window.firstRowAt);
  return (await time.jsonValue()) ?? Number.NaN;
}

/**
 * Runs measurements in a browser with a profile on the disk, as users have it. Without a profile, Chromium does not
 * store the compiled program.
 */
async function inProfile(browser: Browser, measure: (context: BrowserContext) => Promise<void>): Promise<void> {
  const signed = await signedIn(browser);
  const { cookies } = await signed.storageState();
  await signed.close();
  const profile = await mkdtemp(join(tmpdir(), "drover-bench-"));
  const { launchOptions, viewport } = test.info().project.use;
  const options = { ...launchOptions, baseURL: stage.url, ignoreHTTPSErrors: true, viewport: viewport ?? null };
  const context = await chromium.launchPersistentContext(profile, options);
  await context.addCookies(cookies);
  await recordFirstRow(context);
  await recordMemories(context);
  await measure(context);
  await context.close();
  await rm(profile, { recursive: true, force: true });
}

/**
 * Loads a page in a new tab and returns the time to the first table row in ms. The tab stays open for `stay` ms:
 * Chromium stores the compiled program some seconds after the start of the page.
 */
async function load(context: BrowserContext, path: string, slow: boolean, stay = 0): Promise<number> {
  const page = await context.newPage();
  if (slow) {
    const devtools = await context.newCDPSession(page);
    await devtools.send("Network.enable");
    await devtools.send("Network.emulateNetworkConditions", SLOW_NETWORK);
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: CPU_SLOWDOWN });
  }
  await page.goto(path);
  const took = await untilFirstRow(page);
  if (stay > 0) await page.waitForTimeout(stay);
  await page.close();
  return took;
}

/**
 * Returns the time in ms from an action until the page has drawn the changed list. The action is a column name or
 * `type:` and text. The result is NaN if the action does not change the list within two seconds.
 */
async function timeToPaint(page: Page, action: string): Promise<number> {
  return page.evaluate(async (action) => {
    const changed = new Promise<void>((resolve) => {
      const observer = new MutationObserver(() => {
        observer.disconnect();
        resolve();
      });
      for (const part of document.querySelectorAll("tbody, .page-foot, .list-total")) {
        observer.observe(part, { childList: true, subtree: true, characterData: true });
      }
    });
    const began = performance.now();
    if (action.startsWith("type:")) {
      const field = document.querySelector<HTMLInputElement>(".home-filter input, .list-search input");
      if (field === null) throw new Error("the page has no filter field");
      field.value = action.slice("type:".length);
      field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    } else {
      document.querySelectorAll<HTMLButtonElement>(".table-sort").forEach((button) => {
        if (button.textContent === action) button.click();
      });
    }
    const unchanged = new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 2_000));
    if (await Promise.race([changed.then(() => false), unchanged])) return Number.NaN;
    // The second callback runs after the frame with the change is drawn.
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    return performance.now() - began;
  }, action);
}

/** Records the memories that WebAssembly modules export. `Runtime.queryObjects` of DevTools does not respond here. */
async function recordMemories(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const memories = new Set<WebAssembly.Memory>();
    window.memories = memories;
    const instantiate = WebAssembly.instantiateStreaming.bind(WebAssembly);
    WebAssembly.instantiateStreaming = async (source, imports) => {
      const loaded = await instantiate(source, imports);
      for (const value of Object.values(loaded.instance.exports)) {
        if (value instanceof WebAssembly.Memory) memories.add(value);
      }
      return loaded;
    };
  });
}

/** Returns the bytes of the JavaScript heap and the WebAssembly memory after a garbage collection. */
async function heap(page: Page, devtools: CDPSession): Promise<number> {
  await devtools.send("HeapProfiler.enable");
  await devtools.send("HeapProfiler.collectGarbage");
  await devtools.send("Performance.enable");
  const { metrics } = await devtools.send("Performance.getMetrics");
  const script = metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? Number.NaN;
  const memories = await page.evaluate(() => [...(window.memories ?? [])].map(({ buffer }) => buffer.byteLength));
  expect(memories, "the page has a WebAssembly memory").not.toEqual([]);
  return memories.reduce((sum, bytes) => sum + bytes, script);
}

/** Sends `count` create requests with limited concurrency. */
async function createMany(count: number, create: (number: number) => Promise<APIResponse>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const response = await create(next++);
      expect(response.status(), await response.text()).toBe(201);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

function cluster(number: number): object {
  return {
    name: `fleet-${String(number).padStart(5, "0")}`,
    description: `cluster ${number} of the benchmark`,
    labels: { env: number % 3 === 0 ? "prod" : "test", region: `r${number % 17}` },
  };
}

/** Returns a pod with an unknown scheduler, so that the pod stays pending. */
function pod(number: number): object {
  return {
    metadata: { name: `pod-${String(number).padStart(5, "0")}`, labels: { app: `app-${number % 40}` } },
    spec: { schedulerName: "none", containers: [{ name: "main", image: "example.org/app:1" }] },
  };
}

/** Opens a list, filters and sorts it, and records the times under the name of the list. */
async function measureList(context: BrowserContext, list: { name: string; path: string; all: RegExp; typed: string[]; sorted: string[] }): Promise<void> {
  const loads: number[] = [];
  await load(context, list.path, false, FIRST_VISIT);
  for (let run = 0; run < REPETITIONS; run++) loads.push(await load(context, list.path, false));
  figures[`${list.name}_first_rows_ms`] = median(loads);
  const page = await context.newPage();
  await page.goto(list.path);
  await page.getByText(list.all).first().waitFor();
  const [filters, sorts]: [number[], number[]] = [[], []];
  for (const typed of list.typed) filters.push(await timeToPaint(page, `type:${typed}`));
  for (const column of list.sorted) sorts.push(await timeToPaint(page, column));
  figures[`${list.name}_filter_ms`] = median(filters);
  figures[`${list.name}_sort_ms`] = median(sorts);
  figures[`${list.name}_dom_rows`] = await page.locator("tbody tr").count();
  const devtools = await context.newCDPSession(page);
  figures[`${list.name}_heap_mib`] = (await heap(page, devtools)) / 2 ** 20;
  await page.close();
}

/** Returns the time in ms from typing into the open palette until the palette shows the object with this name. */
async function timeToFind(page: Page, typed: string, name: string): Promise<number> {
  const field = page.getByRole("dialog").getByRole("combobox");
  const began = await field.evaluate((field: HTMLInputElement, typed) => {
    field.value = typed;
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    return performance.now();
  }, typed);
  const shown = await page.waitForFunction((name) => {
    const options = [...document.querySelectorAll(".palette-item")];
    return options.some((option) => option.textContent?.startsWith(name)) ? performance.now() : undefined;
  }, name);
  return ((await shown.jsonValue()) ?? Number.NaN) - began;
}

/** Searches pods by name, label and image in the palette. The first search also lists the other kinds. */
async function measureSearch(context: BrowserContext): Promise<void> {
  const page = await context.newPage();
  await page.goto("/");
  await page.getByRole("heading", { name: "Clusters", exact: true }).waitFor();
  await page.keyboard.press("Control+k");
  figures["search_first_ms"] = await timeToFind(page, "pod-100001", "pod-100001");
  const times: number[] = [];
  for (const number of [20_002, 54_321, 99_999]) {
    times.push(await timeToFind(page, `pod-${number}`, `pod-${number}`));
  }
  times.push(await timeToFind(page, "app=app-7 pod-1000", "pod-100007"));
  times.push(await timeToFind(page, "image:example.org/app pod-9999", "pod-99990"));
  figures["search_ms"] = median(times);
  await page.close();
}

async function bearer(terminal: Terminal): Promise<Record<string, string>> {
  const token = await terminal.run("drover token create --description=bench --output json");
  return { Authorization: `Bearer ${(JSON.parse(token) as { token: string }).token}` };
}

async function signedIn(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL: stage.url, ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto("/");
  await signIn(page, "admin", stage.password);
  await page.getByRole("heading", { name: "Clusters", exact: true }).waitFor();
  await page.close();
  return context;
}

test("measures the first load with a cold and a warm cache on a slow network and CPU", async ({ browser, page }) => {
  const files = await firstLoad(page);
  figures["first_load_bytes"] = files.reduce((sum, file) => sum + file.bytes, 0);
  figures["first_load_requests"] = files.length;
  const [cold, warm]: [number[], number[]] = [[], []];
  for (let run = 0; run < REPETITIONS; run++) {
    // Each profile has a separate cache.
    await inProfile(browser, async (context) => {
      cold.push(await load(context, "/", true, FIRST_VISIT));
      warm.push(await load(context, "/", true));
    });
  }
  figures["cold_load_ms"] = median(cold);
  figures["warm_load_ms"] = median(warm);
});

test("measures the list of two thousand clusters", async ({ browser, request, terminal }) => {
  const headers = await bearer(terminal);
  const began = performance.now();
  await createMany(CLUSTERS, (number) => request.post("/v1/clusters", { headers, data: cluster(number) }));
  figures["clusters"] = CLUSTERS;
  figures["make_clusters_s"] = (performance.now() - began) / 1000;
  await inProfile(browser, async (context) => {
    await measureList(context, {
      name: "clusters",
      path: "/",
      all: /^2\D?003 in total$/,
      typed: ["env=prod", "fleet-01", "region=r5", "waiting -prod", ""],
      sorted: ["Name", "Age", "CPU", "Name", "State"],
    });
  });
});

test("measures a list of ten thousand pods", async ({ browser, request, terminal }) => {
  const headers = await bearer(terminal);
  const began = performance.now();
  const path = "/k8s/clusters/demo-small/api/v1/namespaces/default/pods";
  await createMany(PODS, (number) => request.post(path, { headers, data: pod(number) }));
  figures["pods"] = PODS;
  figures["make_pods_s"] = (performance.now() - began) / 1000;
  await inProfile(browser, async (context) => {
    await measureList(context, {
      name: "pods",
      path: "/clusters/demo-small/pods?namespace=default",
      all: /^10\D?000 in total$/,
      typed: ["pod-01", "app=app-7", "state:pending", "-app", ""],
      sorted: ["Name", "Age", "Status", "Name", "Age"],
    });
  });
});

test("measures a list of a hundred thousand pods in three clusters", async ({ browser, request, terminal }) => {
  // The creation of the pods takes about ten minutes.
  test.setTimeout(1_500_000);
  const headers = await bearer(terminal);
  const began = performance.now();
  await createMany(ALL_PODS, (number) => {
    const name = CLUSTERS_WITH_PODS[number % CLUSTERS_WITH_PODS.length] ?? "";
    const path = `/k8s/clusters/${name}/api/v1/namespaces/default/pods`;
    const data = pod(PODS + number);
    return request.post(path, { headers, data });
  });
  figures["all_pods"] = ALL_PODS;
  figures["make_all_pods_s"] = (performance.now() - began) / 1000;
  await inProfile(browser, async (context) => {
    await measureList(context, {
      name: "all_pods",
      path: "/objects/pods?clusters=demo",
      all: /^1[01]\d\D?\d{3} in total$/,
      typed: ["pod-01", "app=app-7", "state:pending", "-app", ""],
      sorted: ["Name", "Age", "Status", "Name", "Age"],
    });
    await measureSearch(context);
  });
});

test.afterAll(async () => {
  await writeFile(join(stage.results, "ui-figures.json"), JSON.stringify(figures));
});
