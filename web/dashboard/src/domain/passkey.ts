/** Passkeys in this browser, with WebAuthn's JSON forms. */
type Options = object;

/** Whether this page may use them: not on an IP address. */
export function passkeysWork(host: string = location.hostname): boolean {
  const isAddress = /^[0-9.]+$/.test(host) || host.includes(':');
  return typeof PublicKeyCredential !== 'undefined' && 'parseRequestOptionsFromJSON' in PublicKeyCredential && !isAddress;
}

/** Creates a passkey; undefined if the user cancels. */
export async function makePasskey(options: Options): Promise<Record<string, unknown> | undefined> {
  const { publicKey } = options as { publicKey: PublicKeyCredentialCreationOptionsJSON };
  return answered(() => navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) }));
}

/** Signs with a passkey; undefined if the user cancels. */
export async function showPasskey(options: Options): Promise<Record<string, unknown> | undefined> {
  const { publicKey } = options as { publicKey: PublicKeyCredentialRequestOptionsJSON };
  return answered(() => navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) }));
}

async function answered(ask: () => Promise<Credential | null>): Promise<Record<string, unknown> | undefined> {
  try {
    const credential = await ask();
    return credential instanceof PublicKeyCredential ? (credential.toJSON() as unknown as Record<string, unknown>) : undefined;
  } catch (error) {
    // Cancelled or timed out; the browser has shown that.
    if (error instanceof DOMException && error.name === 'NotAllowedError') return undefined;
    throw error;
  }
}
