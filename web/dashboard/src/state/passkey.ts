/** A passkey, asked for and shown: what the service is then sent. */
import { call } from '../api/client';
import { showPasskey } from '../domain/passkey';

/** Undefined where its owner would not. */
export async function passkeyShown(): Promise<{ handle: string; credential: Record<string, unknown> } | undefined> {
  const asked = await call('POST /api/auth/passkey/challenge');
  const credential = await showPasskey(asked.data.options);
  return credential && { handle: asked.data.handle, credential };
}
