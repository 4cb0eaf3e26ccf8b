/** What the service says to people, in the dashboard's language. The service says it in English. */
import { language } from './language';

/** A message of the service; in English where nothing else is known. */
export async function inLanguage(message: string): Promise<string> {
  if (language === 'en') return message;
  try {
    const [{ translated }, { de }] = await Promise.all([import('./serverMessages'), import('./de/server')]);
    return translated(message, de) ?? message;
  } catch {
    return message;
  }
}
