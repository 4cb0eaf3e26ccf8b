/** The address partners share. Without a website of the program, an example stands in its place. */
export function linkAddress(domain: string | null | undefined, shortCode: string): string {
  return `https://${domain ?? 'your-site.example'}/?aff=${encodeURIComponent(shortCode)}`;
}
