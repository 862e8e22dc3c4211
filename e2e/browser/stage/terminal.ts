/** A shell with `drover` and `kubectl`, with the home folder of a user. */

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";

import { stage } from "./stage.ts";

const TIMEOUT_MS = 120_000;

export class Terminal {
  readonly home: string;
  private readonly kubeconfig: string;

  /** Creates a terminal with a separate home folder for the user. */
  constructor(user: string, kubeconfig?: string) {
    this.home = join(stage.folder, "terminals", user);
    mkdirSync(this.home, { recursive: true });
    this.kubeconfig = kubeconfig ?? join(this.home, "kubeconfig");
  }

  /** Runs a command line and returns its standard output; rejects if the command fails. */
  run(line: string, input = ""): Promise<string> {
    const path = [dirname(stage.kubectl), stage.programs, process.env["PATH"] ?? ""].join(":");
    const child = spawn("sh", ["-c", line], {
      cwd: this.home,
      env: { HOME: this.home, KUBECONFIG: this.kubeconfig, PATH: path },
      timeout: TIMEOUT_MS,
    });
    let [out, errors] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    // Errors are ignored: a command can end without reading its input.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => {
        if (code === 0) resolve(out);
        else reject(new Error(`\`${line}\` ended with ${code}: ${out}${errors}`));
      });
    });
  }

  /** Returns a terminal with the same home folder and another kubeconfig. */
  with(kubeconfig: string): Terminal {
    return new Terminal(this.home.slice(this.home.lastIndexOf("/") + 1), kubeconfig);
  }

  /** Runs `drover login` with a local password. */
  async logIn(username: string, password: string): Promise<void> {
    const line = `drover login '${stage.url}' --username '${username}' --ca-fingerprint '${stage.fingerprint}' --password-stdin`;
    await this.run(line, `${password}\n`);
  }

  /** Creates a user with an initial password; requires the login of an administrator. */
  async createUser(username: string, password: string): Promise<void> {
    await this.run(`drover user create '${username}' --new-password-stdin`, `${password}\n`);
  }
}
