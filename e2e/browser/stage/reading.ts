/** What a screen is to somebody who cannot see it, without what differs from run to run. */

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
  // A crashing container runs for a while after each restart.
  [/, \d+ pods? (failing|unschedulable)/g, ""],
  // Jobs create pods.
  [/cell "\d+ of (\d+)"/g, 'cell "# of $1"'],
  [/\d+ of (\d+) AGE"/g, '# of $1 AGE"'],
  [/(term: Pods\n\s*- definition: )\d+, capacity/g, "$1#, capacity"],
];

/** What is in front: a dialog, a menu, or the screen itself. What is around it has a test of its own. */
export async function inFront(page: Page): Promise<Locator> {
  const over = page.locator("dialog[open], .menu:popover-open");
  return (await over.count()) > 0 ? over.first() : page.getByRole("main");
}

/** Its tree of roles, names and texts. */
export async function reading(place: Locator): Promise<string> {
  const tree = (await place.ariaSnapshot()).replaceAll(stage.url, "URL");
  return CHANGING.reduce((text, [pattern, word]) => text.replace(pattern, word), tree) + "\n";
}
