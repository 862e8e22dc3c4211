/** The files that a browser with an empty cache downloads for the page. */

import type { Page } from "@playwright/test";

/** A downloaded file. */
export interface DownloadedFile {
  readonly path: string;
  /** Compressed size of the response body. */
  readonly bytes: number;
  readonly encoding: string;
  readonly caching: string;
}

/** Loads the sign-in page and returns the downloaded files. */
export async function firstLoad(page: Page): Promise<DownloadedFile[]> {
  const downloads: Promise<DownloadedFile | undefined>[] = [];
  page.on("requestfinished", (request) => {
    const read = async (): Promise<DownloadedFile | undefined> => {
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
    downloads.push(read());
  });
  await page.goto("/");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  const files = await Promise.all(downloads);
  return files.filter((file) => file !== undefined);
}
