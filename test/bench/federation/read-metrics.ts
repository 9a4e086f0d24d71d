import type { Session } from '#deploy/api/session.ts'

/** What one scrape of `/metrics/federation` costs, and how much it is. */
export interface MetricsFigures {
  /** That the database took for the figures. */
  readonly readMs: number
  /** From the request to the end of the answer, of figures that were just read and of those that were known. */
  readonly freshMs: number
  readonly knownMs: number
  readonly bytes: number
  readonly series: number
}

/** Scrapes once when nothing is known, and once at once after that. */
export async function readMetrics({ endpoint, token }: Session): Promise<MetricsFigures> {
  const scrape = async () => {
    const startedAt = performance.now()
    const headers = { 'x-auth-token': token }
    const text = await (await fetch(`${endpoint}/metrics/federation`, { headers })).text()
    return { text, tookMs: performance.now() - startedAt }
  }
  const fresh = await scrape()
  const known = await scrape()
  const readS = /^weir_federation_read_seconds (\S+)$/m.exec(fresh.text)?.[1]
  return {
    readMs: Number(readS) * 1_000,
    freshMs: fresh.tookMs,
    knownMs: known.tookMs,
    bytes: fresh.text.length,
    series: fresh.text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length,
  }
}
