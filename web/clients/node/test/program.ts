import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A process of Node's, whose end and output are to be seen. */
export class Program {
  printed = '';
  readonly #process;
  readonly #hasEnded;

  /** @param args a file, or what Node takes in its place */
  constructor(args: string[], env: Record<string, string>) {
    this.#process = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    // Its output is complete then.
    this.#hasEnded = once(this.#process, 'close');
    for (const stream of [this.#process.stdout, this.#process.stderr]) stream.on('data', (text) => (this.printed += text));
  }

  /** As a container does that ends. */
  terminate(): void {
    this.#process.kill('SIGTERM');
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  /** Its exit code, once it has ended by itself. */
  async end(): Promise<number | null> {
    const [code] = (await this.#hasEnded) as [number | null];
    return code;
  }
}
