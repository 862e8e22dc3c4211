import { defineConfig } from "@playwright/test";

import { stage } from "./stage/stage.ts";
import { presentedKey } from "./stage/trust.ts";

const key = await presentedKey(stage.url);

export default defineConfig({
  outputDir: `${stage.results}/browser`,
  // One world, which the tests change: one after the other.
  workers: 1,
  fullyParallel: false,
  forbidOnly: true,
  // A test that passes at times is a failure.
  retries: 0,
  maxFailures: 0,
  timeout: 60_000,
  reporter: [["list"]],
  expect: {
    timeout: 20_000,
    toHaveScreenshot: {
      // Another release of the browser draws some edges otherwise; words, colors and places count.
      maxDiffPixelRatio: 0.01,
      threshold: 0.2,
      caret: "initial",
    },
  },
  snapshotPathTemplate: "{testDir}/looks/{arg}{ext}",
  use: {
    baseURL: stage.url,
    ignoreHTTPSErrors: true,
    viewport: { width: 1280, height: 800 },
    deviceScaleFactor: 1,
    colorScheme: "light",
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "UTC",
    actionTimeout: 20_000,
    navigationTimeout: 30_000,
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: "/usr/bin/chromium",
      // The sandbox does not start as root, which the node of these tests needs.
      chromiumSandbox: process.getuid?.() !== 0,
      args: [`--ignore-certificate-errors-spki-list=${key}`, "--font-render-hinting=none", "--disable-lcd-text"],
      env: { ...process.env, FONTCONFIG_FILE: `${import.meta.dirname}/fonts.conf` } as Record<string, string>,
    },
  },
  projects: ["demonstration", "road", "bench", "pictures"].map((name) => ({ name, testDir: `./${name}` })),
});
