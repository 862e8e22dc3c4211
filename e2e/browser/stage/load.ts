/** What a browser fetches that has never seen the page. */

import type { Page } from "@playwright/test";

/** A file of the page. */
export interface Fetched {
  readonly path: string;
  /** As they come over the wire. */
  readonly bytes: number;
  readonly encoding: string;
  readonly caching: string;
}

/** Loads the page before the door, and tells each file that came for it. */
export async function firstLoad(page: Page): Promise<Fetched[]> {
  const going: Promise<Fetched | undefined>[] = [];
  page.on("requestfinished", (request) => {
    const tell = async (): Promise<Fetched | undefined> => {
      const response = await request.response();
      if (response === null || new URL(request.url()).pathname.startsWith("/v1/")) return undefined;
      const { responseBodySize: bytes } = await request.sizes();
      const headers = await response.allHeaders();
      return {
        path: new URL(request.url()).pathname,
        bytes,
        encoding: headers["content-encoding"] ?? "none",
        caching: headers["cache-control"] ?? "",
      };
    };
    going.push(tell());
  });
  await page.goto("/");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  const told = await Promise.all(going);
  return told.filter((file) => file !== undefined);
}
