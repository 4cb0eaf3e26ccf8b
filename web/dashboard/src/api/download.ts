import { request } from './client';
import type { Operations } from './operations';

/** Saves a response as a file. An incomplete response is not saved. */
export async function download<O extends keyof Operations>(
  operation: O,
  given: Parameters<typeof request<O>>[1],
  name: string,
): Promise<void> {
  const response = await request(operation, given);
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
