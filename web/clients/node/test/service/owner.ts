/** A variable that `cargo xtask` sets, as in `.dev/env`. */
export function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run these tests by \`cargo xtask test-clients\``);
  return value;
}

/** The owner of the demo program, signed in. */
export class Owner {
  private constructor(
    private readonly url: string,
    private readonly token: string,
  ) {}

  static async signIn(url: string): Promise<Owner> {
    const account = { identifier: setting('DEMO_EMAIL'), password: setting('DEMO_PASSWORD') };
    const { jwt } = (await new Owner(url, '').ask('POST', '/api/auth/local', account)) as { jwt: string };
    return new Owner(url, jwt);
  }

  /** A new webhook endpoint for one type of event. */
  async endpoint(url: string, type: string): Promise<{ path: string; secret: string }> {
    const endpoints = `/api/advertiser/affiliate-programs/${setting('DEMO_PROGRAM_ID')}/webhook-endpoints`;
    const made = await this.ask('POST', endpoints, { url, event_types: [type] });
    const { id, secret } = (made as { data: { id: number; secret: string } }).data;
    return { path: `${endpoints}/${id}`, secret };
  }

  /** Deletes the endpoint with this URL. */
  async forget(url: string): Promise<void> {
    const endpoints = `/api/advertiser/affiliate-programs/${setting('DEMO_PROGRAM_ID')}/webhook-endpoints`;
    const { data } = (await this.ask('GET', endpoints)) as { data: { id: number; url: string }[] };
    for (const { id } of data.filter((endpoint) => endpoint.url === url)) await this.ask('DELETE', `${endpoints}/${id}`);
  }

  async ask(method: string, path: string, body?: object): Promise<unknown> {
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (this.token) headers['authorization'] = `Bearer ${this.token}`;
    const answer = await fetch(this.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? undefined : answer.json();
  }
}
