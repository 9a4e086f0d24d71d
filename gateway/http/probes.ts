import { hash, timingSafeEqual } from 'node:crypto'
import type { Hono } from 'hono'
import { MAX, MIN } from '#openapi/microversions.ts'
import { isAllowed } from '../app/policy.ts'
import { SITE_PATH } from '../app/site/ask-sites.ts'
import { unreadiness } from '../app/unreadiness.ts'
import type { Gateway } from '../context.ts'
import type { HeaderReader } from './http-input.ts'

/**
 * The paths that supervisors and monitoring read; none names a user's resource. `/metrics`, the state of a process,
 * is for operators: it is read with the token of the settings, as monitoring sends it, or with that of an
 * administrator.
 */
export function registerProbes(app: Hono, gateway: Gateway): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  app.get('/readyz', async (c) => {
    const why = await unreadiness(gateway)
    return why === undefined
      ? c.json({ status: 'ready' })
      : c.json({ status: 'not ready', reason: why }, 503, { 'Retry-After': '1' })
  })
  app.get(SITE_PATH, (c) =>
    c.json({
      site: gateway.config.site ?? null,
      is: 'active',
      ...(gateway.site?.announcement && { announcement: gateway.site.announcement }),
    }),
  )
  app.get('/version', (c) =>
    c.json({ version: gateway.version, microversions: { min: MIN, max: MAX } }),
  )
  app.get('/metrics', async (c) => {
    if (!(await mayReadMetrics(gateway, (name) => c.req.header(name))))
      return c.text('A token is required: see GATEWAY_METRICS_TOKEN.\n', 401, {
        'WWW-Authenticate': 'Bearer realm="metrics"',
      })
    const { registry } = gateway.metrics
    return new Response(await registry.metrics(), {
      headers: { 'Content-Type': registry.contentType },
    })
  })
}

const BEARER = /^Bearer (\S+)$/i

async function mayReadMetrics(
  { config, verifier }: Pick<Gateway, 'config' | 'verifier'>,
  header: HeaderReader,
): Promise<boolean> {
  const bearer = BEARER.exec(header('authorization') ?? '')?.[1]
  if (bearer !== undefined && config.metricsToken !== undefined)
    return timingSafeEqual(digest(bearer), digest(config.metricsToken))
  const token = header('x-auth-token')
  const caller = token === undefined ? undefined : await verifier.callerOf(token)
  return caller !== undefined && isAllowed(caller, 'federation:metrics')
}

/** The same length for a text of any length. */
function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
