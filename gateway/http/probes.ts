import type { Context, Hono } from 'hono'
import { isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import { bearerOf, isBearer } from '#common/metrics/bearer.ts'
import { MAX, MIN } from '#openapi/microversions.ts'
import { isAllowed } from '../app/policy.ts'
import { SITE_PATH } from '../app/site/ask-sites.ts'
import { unreadiness } from '../app/unreadiness.ts'
import type { Gateway } from '../context.ts'
import type { HeaderReader } from './http-input.ts'

/**
 * The paths that supervisors and monitoring read; none names a user's resource. `/metrics`, the state of this process, and
 * `/metrics/federation`, that of the whole, are for operators: they are read with the token of the settings, as monitoring sends it, or with that of an
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
  app.get('/metrics', (c) => {
    const { registry } = gateway.metrics
    return metricsAnswer(gateway, c, registry.contentType, () => registry.metrics())
  })
  app.get('/metrics/federation', (c) => {
    const { federationMetrics } = gateway
    return metricsAnswer(gateway, c, federationMetrics.contentType, () => federationMetrics.text())
  })
}

async function metricsAnswer(
  gateway: Gateway,
  c: Context,
  contentType: string,
  text: () => Promise<string>,
): Promise<Response> {
  if (!(await mayReadMetrics(gateway, (name) => c.req.header(name))))
    return c.text('A token is required: see GATEWAY_METRICS_TOKEN.\n', 401, {
      'WWW-Authenticate': 'Bearer realm="metrics"',
    })
  try {
    return new Response(await text(), { headers: { 'Content-Type': contentType } })
  } catch (error) {
    gateway.log.warn(errorFields(error), 'metrics could not be read')
    return c.text(`${isFailure(error) ? error.message : 'They could not be read.'}\n`, 503)
  }
}

async function mayReadMetrics(
  { config, verifier }: Pick<Gateway, 'config' | 'verifier'>,
  header: HeaderReader,
): Promise<boolean> {
  const authorization = header('authorization')
  if (bearerOf(authorization) !== undefined && config.metricsToken !== undefined)
    return isBearer(authorization, config.metricsToken)
  const token = header('x-auth-token')
  const caller = token === undefined ? undefined : await verifier.callerOf(token)
  return caller !== undefined && isAllowed(caller, 'federation:metrics')
}
