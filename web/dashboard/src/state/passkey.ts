/** Requests a passkey; returns the response for the service. */
import { call } from '../api/client';
import { showPasskey } from '../domain/passkey';

/** Undefined if the user cancels. */
export async function passkeyShown(): Promise<{ handle: string; credential: Record<string, unknown> } | undefined> {
  const asked = await call('POST /api/auth/passkey/challenge');
  const credential = await showPasskey(asked.data.options);
  return credential && { handle: asked.data.handle, credential };
}
