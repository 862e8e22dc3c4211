// A terminal in the page: xterm.js, and a WebSocket to a terminal of the server that reconnects.
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Terminal } from "@xterm/xterm";

// The server sends a message at least every 10 s.
const SILENCE_MS = 25_000;
const RETRY_MS = [250, 500, 1_000, 2_000, 4_000];
// Maximum number of processed bytes that are not acknowledged yet.
const ACK_BYTES = 16 * 1024;
const ACK_MS = 200;
// Maximum size of an input message. The server accepts at most 16 KiB.
const INPUT_BYTES = 8 * 1024;
const CHECK_TIMEOUT_MS = 10_000;
const THEME = {
  background: "#12161d",
  foreground: "#e4e7eb",
  cursor: "#e4e7eb",
  selectionBackground: "#3b5380",
};

// Replaces the <style> elements of xterm.js with an adopted style sheet.
class AdoptedStyle extends HTMLElement {
  #sheet = new CSSStyleSheet();
  #text = "";

  get textContent() {
    return this.#text;
  }

  set textContent(text) {
    this.#text = text;
    this.#sheet.replaceSync(text);
  }

  connectedCallback() {
    this.hidden = true;
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.#sheet];
  }

  disconnectedCallback() {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.#sheet);
  }
}
customElements.define("drover-style", AdoptedStyle);

// Connects a screen to a terminal of the server. `report(state, text)` receives the state:
// "connecting", "open", "lost", "discarded", "replaced", "gone", "signed-out" or "ended".
class Connection {
  #screen;
  #id;
  #report;
  #socket = null;
  #received = 0;
  #processed = 0;
  #acknowledged = 0;
  #attempt = 0;
  #heard = 0;
  #ackTimer = 0;
  #retryTimer = 0;
  #silenceTimer = 0;
  #done = false;
  #abort = new AbortController();

  constructor(screen, id, report) {
    this.#screen = screen;
    this.#id = id;
    this.#report = report;
    const { signal } = this.#abort;
    window.addEventListener("online", () => this.#retry(0), { signal });
    window.addEventListener("offline", () => this.#lose(), { signal });
    this.#silenceTimer = setInterval(() => {
      if (this.#socket && Date.now() - this.#heard > SILENCE_MS) this.#lose();
    }, 5_000);
    report("connecting", "");
    this.#connect();
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  send(bytes) {
    for (let start = 0; this.isOpen && start < bytes.length; start += INPUT_BYTES) {
      this.#socket.send(bytes.subarray(start, start + INPUT_BYTES));
    }
  }

  control(message) {
    if (this.isOpen) this.#socket.send(JSON.stringify(message));
  }

  resize() {
    this.control({ type: "resize", cols: this.#screen.cols, rows: this.#screen.rows });
  }

  stop() {
    this.#done = true;
    this.#abort.abort();
    clearInterval(this.#silenceTimer);
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#ackTimer);
    this.#close();
  }

  #connect() {
    this.#heard = Date.now();
    const path = `/v1/terminals/${this.#id}/stream?received=${this.#received}`;
    const socket = new WebSocket(`wss://${location.host}${path}`);
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    // The events of a replaced socket have no effect.
    const own = (listener) => (event) => {
      if (this.#socket !== socket) return;
      this.#heard = Date.now();
      listener(event);
    };
    socket.onmessage = own(({ data }) => (typeof data === "string" ? this.#notice(JSON.parse(data)) : this.#output(data)));
    socket.onclose = own(() => this.#lose());
  }

  #notice(notice) {
    switch (notice.type) {
      case "attached":
        // The server no longer has the missing output, so the screen would be wrong.
        if (notice.offset !== this.#received && this.#received > 0) this.#screen.reset();
        this.#received = this.#processed = this.#acknowledged = notice.offset;
        this.#attempt = 0;
        this.#report("open", "");
        this.resize();
        break;
      case "alive":
        this.control({ type: "alive" });
        break;
      case "inputDiscarded":
        this.#report("discarded", "");
        break;
      case "replaced":
        this.#finish("replaced", "");
        break;
      case "ended":
        this.#finish("ended", notice.ending.message);
        break;
    }
  }

  #output(data) {
    const bytes = new Uint8Array(data);
    this.#received += bytes.length;
    const end = this.#received;
    this.#screen.write(bytes, () => {
      this.#processed = Math.max(this.#processed, end);
      if (this.#processed - this.#acknowledged >= ACK_BYTES) this.#acknowledge();
      else this.#ackTimer ||= setTimeout(() => this.#acknowledge(), ACK_MS);
    });
  }

  #acknowledge() {
    clearTimeout(this.#ackTimer);
    this.#ackTimer = 0;
    this.#acknowledged = this.#processed;
    this.control({ type: "ack", offset: this.#processed });
  }

  #close() {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #finish(state, text) {
    this.stop();
    this.#report(state, text);
  }

  #lose() {
    if (this.#done) return;
    this.#close();
    this.#report("lost", "");
    const delay = RETRY_MS[Math.min(this.#attempt, RETRY_MS.length - 1)];
    this.#attempt += 1;
    this.#retry(delay * (0.5 + Math.random()));
  }

  #retry(delay) {
    if (this.#done || this.#socket) return;
    clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => this.#check(), delay);
  }

  // A failed WebSocket has no status, so ask whether the terminal exists.
  async #check() {
    let status = 0;
    let items = [];
    try {
      const response = await fetch("/v1/terminals", { cache: "no-store", signal: AbortSignal.timeout(CHECK_TIMEOUT_MS) });
      status = response.status;
      if (response.ok) ({ items } = await response.json());
    } catch {
      status = 0;
    }
    if (this.#done || this.#socket) return;
    if (status === 401) this.#finish("signed-out", "");
    else if (status !== 200) this.#lose();
    else if (!items.some(({ id }) => id === this.#id)) this.#finish("gone", "");
    else this.#connect();
  }
}

// Opens a terminal of the server in an element. The element must be part of the page.
export function open(host, id, fontSize, report) {
  const screen = new Terminal({
    theme: THEME,
    fontFamily: 'ui-monospace, "SFMono-Regular", "DejaVu Sans Mono", Menlo, Consolas, monospace',
    fontSize,
    scrollback: 5_000,
    cursorBlink: false,
    screenReaderMode: true,
    // A link of a container must not lead away from the page.
    linkHandler: { activate() {} },
  });
  const fit = new FitAddon();
  const search = new SearchAddon();
  screen.loadAddon(fit);
  screen.loadAddon(search);
  screen.open(host);
  fit.fit();
  const encoder = new TextEncoder();
  const connection = new Connection(screen, id, (state, text) => {
    if (["ended", "gone", "replaced", "signed-out"].includes(state)) screen.options.disableStdin = true;
    report(state, text);
  });
  screen.onData((text) => connection.send(encoder.encode(text)));
  screen.onBinary((text) => connection.send(Uint8Array.from(text, (letter) => letter.charCodeAt(0))));
  screen.onResize(() => connection.resize());
  screen.attachCustomKeyEventHandler((event) => {
    const copies = event.type === "keydown" && event.ctrlKey && event.code === "KeyC" && screen.hasSelection();
    if (!copies) return true;
    navigator.clipboard.writeText(screen.getSelection());
    screen.clearSelection();
    event.preventDefault();
    return false;
  });
  const observer = new ResizeObserver(() => {
    // A hidden element has no size.
    if (host.clientHeight > 0) fit.fit();
  });
  observer.observe(host);
  return {
    focus: () => screen.focus(),
    find: (text, forward) => (forward ? search.findNext(text) : search.findPrevious(text)),
    setFontSize: (size) => {
      screen.options.fontSize = size;
      fit.fit();
    },
    dispose: () => {
      observer.disconnect();
      connection.stop();
      screen.dispose();
    },
  };
}
