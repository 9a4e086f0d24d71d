import type { Hono } from 'hono'
import { MAX, MIN } from '#openapi/microversions.ts'
import { unreadiness } from '../app/unreadiness.ts'
import type { Gateway } from '../context.ts'

/** What supervisors and monitoring ask; none of it needs a token, and none of it names a user's thing. */
export function registerProbes(app: Hono, gateway: Gateway): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  app.get('/readyz', async (c) => {
    const why = await unreadiness(gateway.db, gateway.log)
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
