/** Answers are of this moment and not to be kept, as Placement says since microversion 1.15. */
export function freshness(now: number): Readonly<Record<string, string>> {
  return { 'Cache-Control': 'no-cache', 'Last-Modified': new Date(now).toUTCString() }
}
