/** The address partners share. Without a website of the program, an example is used. */
export function linkAddress(domain: string | null | undefined, shortCode: string): string {
  return `https://${domain ?? 'your-site.example'}/?aff=${encodeURIComponent(shortCode)}`;
}
