/** Text snapshots of the accessibility tree, without the values that differ between runs. */

import { stage } from "./stage.ts";
import type { Locator, Page } from "@playwright/test";

const CHANGING: readonly [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UID"],
  [/drover[a-z]*_[A-Za-z0-9_-]{16,}/g, "TOKEN"],
  [/sha256\/\/[A-Za-z0-9+/=]+/g, "PIN"],
  [/(\d\d\/\d\d\/\d{4}, )?\d\d:\d\d:\d\d/g, "TIME"],
  [/\b\d+[smhdy]( \d+[smhdy])*\b/g, "AGE"],
  [/(Commit\n\s*- definition:\n\s*- code: )\S+/g, "$1COMMIT"],
  // Usage changes; capacity does not.
  [/\d+(\.\d+)*( [KMGT]iB)? of (\d+(?:\.\d+)*) (cores|[KMGT]iB) (used|requested)/g, "# of $3 $4 $5"],
  // The usage of a pod or a node, with the share of its request.
  [/\b\d+(\.\d+)*( [KMGT]iB)? \d+ %/g, "USAGE"],
  // A crashing container runs for a while after each restart.
  [/, \d+ pods? (failing|unschedulable)/g, ""],
  // Jobs create pods.
  [/cell "\d+ of (\d+)"/g, 'cell "# of $1"'],
  [/Pods \d+ of (\d+) requested/g, "Pods # of $1 requested"],
  [/\d+ of (\d+) AGE"/g, '# of $1 AGE"'],
  [/(term: Pods\n\s*- definition: )\d+, capacity/g, "$1#, capacity"],
];

/** Returns the open dialog or menu, or else the main element. A separate test covers the navigation. */
export async function foreground(page: Page): Promise<Locator> {
  const overlay = page.locator("dialog[open], .menu:popover-open");
  return (await overlay.count()) > 0 ? overlay.first() : page.getByRole("main");
}

/** Returns the tree of roles, names and texts of an element. */
export async function textSnapshot(element: Locator): Promise<string> {
  const tree = (await element.ariaSnapshot()).replaceAll(stage.url, "URL");
  return CHANGING.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), tree) + "\n";
}
