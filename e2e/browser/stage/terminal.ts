/** A person's terminal beside the browser: a shell with `drover` and `kubectl`. */

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";

import { stage } from "./stage.ts";

const LIMIT_MS = 120_000;

export class Terminal {
  readonly home: string;
  private readonly kubeconfig: string;

  /** A terminal of somebody's, with a home folder of its own. */
  constructor(person: string, kubeconfig?: string) {
    this.home = join(stage.folder, "terminals", person);
    mkdirSync(this.home, { recursive: true });
    this.kubeconfig = kubeconfig ?? join(this.home, "kubeconfig");
  }

  /** Runs a line in the shell and gives what it printed; fails as the line does. */
  run(line: string, typed = ""): Promise<string> {
    const path = [dirname(stage.kubectl), stage.programs, process.env["PATH"] ?? ""].join(":");
    const child = spawn("sh", ["-c", line], {
      cwd: this.home,
      env: { HOME: this.home, KUBECONFIG: this.kubeconfig, PATH: path },
      timeout: LIMIT_MS,
    });
    let [out, errors] = ["", ""];
    child.stdout.on("data", (part: Buffer) => (out += part.toString()));
    child.stderr.on("data", (part: Buffer) => (errors += part.toString()));
    // Errors are ignored: a command can end without reading its input.
    child.stdin.on("error", () => undefined);
    child.stdin.end(typed);
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => {
        if (code === 0) resolve(out);
        else reject(new Error(`\`${line}\` ended with ${code}: ${out}${errors}`));
      });
    });
  }

  /** The same terminal with another kubeconfig. */
  with(kubeconfig: string): Terminal {
    return new Terminal(this.home.slice(this.home.lastIndexOf("/") + 1), kubeconfig);
  }

  /** Logs the command line in. */
  async logIn(username: string, password: string): Promise<void> {
    const line = `drover login '${stage.url}' --username '${username}' --ca-fingerprint '${stage.fingerprint}' --password-stdin`;
    await this.run(line, `${password}\n`);
  }

  /** Makes a person who must change this password; needs the login of an administrator. */
  async createUser(username: string, password: string): Promise<void> {
    await this.run(`drover user create '${username}' --new-password-stdin`, `${password}\n`);
  }
}
