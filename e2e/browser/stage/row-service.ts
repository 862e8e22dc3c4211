/** Fakes responses of the row service, because no cluster of the demonstration sends them. */

import type { Page } from "@playwright/test";

/** The reason why a cluster cannot list a kind. */
export interface ListProblem {
  readonly code: number;
  readonly message: string;
}

interface Subscribe {
  readonly id: number;
  readonly list: { readonly plural: string; readonly clusters: readonly string[] };
}

/** Answers all lists of a kind with a problem. All other lists are real. */
export async function fakeListProblem(page: Page, plural: string, problem: ListProblem): Promise<void> {
  await page.routeWebSocket(/\/v1\/rows$/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      const { subscribe } = JSON.parse(String(message)) as { subscribe?: Subscribe };
      if (subscribe?.list.plural !== plural) {
        server.send(message);
        return;
      }
      const sources = subscribe.list.clusters.map((cluster) => ({ cluster, rows: 0, state: { failed: problem } }));
      const counts = { shown: 0, all: 0, severities: [0, 0, 0, 0, 0], first: 0, order: [] };
      socket.send(JSON.stringify({ update: { id: subscribe.id, ...counts, sources } }));
    });
  });
}
