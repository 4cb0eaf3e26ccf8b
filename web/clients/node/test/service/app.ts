import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { commands } from '../page.js';
import { setting } from './owner.js';

/** The generator, installations, a build, on a slow machine. */
const PATIENCE_MS = 600_000;
const LOG_CHARS = 100_000;

/** What the page names in place of the reader's own. */
export interface Values {
  'https://track.example': string;
  'aff_…': string;
  'whsec_…': string;
}

/**
 * An app that a section of a page makes: every block but the last is one script, which ends in the app's server. The last is run beside
 * it.
 */
export class App {
  readonly url: string;
  readonly #dir: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #script: string;
  readonly #last: string;
  #shell: ChildProcess | undefined;
  printed = '';

  constructor(name: string, text: string, port: number, values: Values) {
    this.url = `http://127.0.0.1:${port}`;
    this.#dir = join(setting('APPS'), name);
    const mine = Object.entries(values).reduce((text, [theirs, mine]) => text.replaceAll(theirs, mine), text);
    const all = commands(mine);
    this.#script = all.slice(0, -1).join('\n');
    this.#last = all.at(-1) ?? '';
    this.#env = { ...ofReader(), PORT: String(port), NEXT_TELEMETRY_DISABLED: '1' };
  }

  /** Returns once it answers. */
  async start(): Promise<void> {
    rmSync(this.#dir, { recursive: true, force: true });
    mkdirSync(this.#dir, { recursive: true });
    // The page has its reader put the packages there.
    for (const file of readdirSync(setting('PACKAGES')).filter((name) => /\.(tgz|whl)$/.test(name))) {
      copyFileSync(join(setting('PACKAGES'), file), join(this.#dir, file));
    }
    this.#env['PATH'] = `${this.#npm()}:${this.#env['PATH']}`;
    this.#shell = spawn('sh', ['-eu', '-c', this.#script], {
      cwd: this.#dir,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own group, which stops as a whole.
      detached: true,
    });
    for (const stream of [this.#shell.stdout, this.#shell.stderr]) {
      stream?.on('data', (text) => (this.printed = `${this.printed}${text}`.slice(-LOG_CHARS)));
    }
    for (const end = Date.now() + PATIENCE_MS; ; await pause(200)) {
      if (this.#shell.exitCode !== null) throw new Error(`it ended:\n${this.printed}`);
      const answer = await fetch(this.url).catch(() => null);
      if (answer?.ok) return;
      if (Date.now() > end) throw new Error(`it does not answer (${answer?.status}):\n${this.printed}`);
    }
  }

  async stop(): Promise<void> {
    const shell = this.#shell;
    if (!shell?.pid) return;
    this.stopNow();
    if (shell.exitCode === null && shell.signalCode === null) await once(shell, 'exit');
  }

  stopNow(): void {
    try {
      if (this.#shell?.pid) process.kill(-this.#shell.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }

  /** What the last block prints, in the app's directory. */
  look(): string {
    const done = spawnSync('sh', ['-eu', '-c', this.#last], { cwd: join(this.#dir, 'shop'), env: this.#env, encoding: 'utf8' });
    return done.stdout;
  }

  /** A directory with the npm that runs these tests: the machine may have none. */
  #npm(): string {
    const bin = join(this.#dir, 'bin');
    mkdirSync(bin);
    const npm = setting('npm_execpath');
    for (const [name, program] of Object.entries({ npm, npx: npm.replace(/npm(-cli\.js)?$/, 'npx$1') })) {
      writeFileSync(join(bin, name), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, { mode: 0o755 });
    }
    return bin;
  }
}

/** Without what npm, the runner of these tests and `cargo xtask` set. */
function ofReader(): NodeJS.ProcessEnv {
  const foreign = /^(npm_|NODE|DEMO_|INIT_CWD$|BASE_URL$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}
