import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A request that an endpoint gets, about a visitor with this click id. */
export function webhook(secret: string, clickId: string): { method: string; headers: Record<string, string>; body: string } {
  const data = { program_id: 1, click_id: clickId };
  const body = JSON.stringify({ type: 'sale.recorded', timestamp: '2026-05-04T09:30:00.000Z', data });
  const [id, now] = [`evt_${randomUUID()}`, new Date()];
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, now, body),
  };
  return { method: 'POST', headers, body };
}

/** Stands for a service that hangs, or has this answer for everything. */
export class Service {
  readonly #server;

  private constructor(status: number | null) {
    this.#server = createServer((_, response) => {
      if (status !== null) response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  }

  static async start(status: number | null): Promise<Service> {
    const service = new Service(status);
    service.#server.listen(0, '127.0.0.1');
    await once(service.#server, 'listening');
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Once it has the next request. */
  async request(): Promise<void> {
    await once(this.#server, 'request');
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
