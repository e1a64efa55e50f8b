// SPDX-License-Identifier: Apache-2.0
// Runs the command: to its end, or as a server.
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

export class Stipple {
  #servers = new Set();

  constructor(program, folder) {
    this.program = program;
    this.folder = folder; // where it runs: relative paths are in it
  }

  // Resolves to what it prints on its standard output; an exit status other than 0 is an error.
  async run(...args) {
    try {
      return (await execute(this.program, args, { cwd: this.folder, maxBuffer: 1 << 26 })).stdout;
    } catch (error) {
      throw new Error(`stipple ${args.join(" ")}: ${error.stderr || error.message}`);
    }
  }

  // Starts a command that serves a page; resolves once it has printed the address.
  serve(...args) {
    const child = spawn(this.program, args, { cwd: this.folder, stdio: ["ignore", "pipe", "pipe"] });
    const server = new Served(child, args);
    this.#servers.add(server);
    return server.starting.then(() => server);
  }

  async stopAll() {
    await Promise.all([...this.#servers].map((server) => server.stop()));
  }
}

class Served {
  constructor(child, args) {
    this.child = child;
    this.output = "";
    this.ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal)));
    this.starting = new Promise((resolve, reject) => {
      const read = (text) => {
        this.output += text;
        this.url ??= this.output.match(/https?:\/\/\S+/)?.[0];
        if (this.url) resolve();
      };
      child.stdout.setEncoding("utf8").on("data", read);
      child.stderr.setEncoding("utf8").on("data", read);
      child.once("error", reject);
      this.ended.then((code) =>
        reject(new Error(`stipple ${args.join(" ")} ended (${code}) without an address: ${this.output}`)));
    });
  }

  get isRunning() {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  // As Ctrl-C does. Resolves to the exit status.
  stop() {
    if (this.isRunning) this.child.kill("SIGINT");
    return this.ended;
  }
}
