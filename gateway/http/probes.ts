import type { Hono } from 'hono'
import { errorChain } from '#common/errors.ts'
import { within } from '#common/within.ts'
import { MAX, MIN } from '#openapi/microversions.ts'
import type { Gateway } from '../context.ts'
import { databaseReadiness } from '../db/readiness.ts'

const READY_WAIT_MS = 2_000

/** What supervisors and monitoring ask; none of it needs a token, and none of it names a user's thing. */
export function registerProbes(app: Hono, gateway: Gateway): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  app.get('/readyz', async (c) => {
    const why = await unreadiness(gateway)
    return why === undefined
      ? c.json({ status: 'ready' })
      : c.json({ status: 'not ready', reason: why }, 503, { 'Retry-After': '1' })
  })
  app.get('/version', (c) =>
    c.json({ version: gateway.version, microversions: { min: MIN, max: MAX } }),
  )
  app.get('/metrics', async () => {
    const { registry } = gateway.metrics
    return new Response(await registry.metrics(), {
      headers: { 'Content-Type': registry.contentType },
    })
  })
}

/** Ready without any cell: reads and most intents need only the database. */
async function unreadiness({ db, log }: Gateway): Promise<string | undefined> {
  try {
    return await within(READY_WAIT_MS, databaseReadiness(db))
  } catch (error) {
    log.warn({ error: errorChain(error) }, 'database not ready')
    return 'the database does not answer'
  }
}
