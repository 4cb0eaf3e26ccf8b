/** Passkeys in this browser, as WebAuthn's JSON has them on both sides. */
type Options = object;

/** Whether this page may use them: browsers have none for an address without a name. */
export function passkeysWork(host: string = location.hostname): boolean {
  const isAddress = /^[0-9.]+$/.test(host) || host.includes(':');
  return typeof PublicKeyCredential !== 'undefined' && 'parseRequestOptionsFromJSON' in PublicKeyCredential && !isAddress;
}

/** Has the device make one; undefined where its owner would not. */
export async function makePasskey(options: Options): Promise<Record<string, unknown> | undefined> {
  const { publicKey } = options as { publicKey: PublicKeyCredentialCreationOptionsJSON };
  return answered(() => navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) }));
}

/** Has the device sign with one; undefined where its owner would not. */
export async function showPasskey(options: Options): Promise<Record<string, unknown> | undefined> {
  const { publicKey } = options as { publicKey: PublicKeyCredentialRequestOptionsJSON };
  return answered(() => navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) }));
}

async function answered(ask: () => Promise<Credential | null>): Promise<Record<string, unknown> | undefined> {
  try {
    const credential = await ask();
    return credential instanceof PublicKeyCredential ? (credential.toJSON() as unknown as Record<string, unknown>) : undefined;
  } catch (error) {
    // Turned away, or not in time: the browser has said so.
    if (error instanceof DOMException && error.name === 'NotAllowedError') return undefined;
    throw error;
  }
}
