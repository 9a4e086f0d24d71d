import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import { isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import { bearerOf, isBearer } from '#common/metrics/bearer.ts'
import { MAX, MIN } from '#openapi/microversions.ts'
import { isAllowed } from '../app/policy.ts'
import { SITE_PATH } from '../app/site/ask-sites.ts'
import { busUnreadiness, databaseUnreadiness, unreadiness } from '../app/unreadiness.ts'
import type { Gateway } from '../context.ts'
import type { HeaderReader } from './http-input.ts'

/** 404 while another gateway should get the requests, as HAProxy expects it of a server that gets no new ones. */
export const ROTATION_PATH = '/rotation'

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
  app.get(ROTATION_PATH, (c) => {
    const reason = gateway.rotation.look()
    return reason === undefined
      ? c.json({ status: 'in rotation' })
      : c.json({ status: 'not in rotation', reason }, 404)
  })
  app.get(SITE_PATH, (c) =>
    c.json({
      site: gateway.config.site ?? null,
      is: 'active',
      ...(gateway.site?.announcement && { announcement: gateway.site.announcement }),
    }),
  )
  app.get('/healthcheck', (c) => healthcheck(gateway, c))
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

/** As oslo.middleware's healthcheck answers: in text, or in HTML or JSON for clients that name these first. */
async function healthcheck(gateway: Gateway, c: Context): Promise<Response> {
  const [database, bus] = await Promise.all([databaseUnreadiness(gateway), busUnreadiness(gateway)])
  const reasons = [
    { class: 'Database', reason: database ?? 'OK', details: '' },
    { class: 'Bus', reason: bus ?? 'OK', details: '' },
  ]
  const isHealthy = database === undefined && bus === undefined
  const status = isHealthy ? 200 : 503
  if (c.req.raw.method === 'HEAD') return new Response(null, { status: isHealthy ? 204 : 503 })
  if (/^application\/json\b/.test(c.req.header('accept') ?? ''))
    return c.json({ detailed: true, reasons }, status)
  if (/^text\/html\b/.test(c.req.header('accept') ?? '')) return c.html(healthPage(reasons), status)
  const failed = reasons.map(({ reason }) => reason).filter((reason) => reason !== 'OK')
  return c.text(isHealthy ? 'OK' : failed.join('\n'), status)
}

function healthPage(reasons: readonly { readonly class: string; readonly reason: string }[]) {
  const title = 'Healthcheck Status'
  const rows = reasons.map((each) => html`<tr><th>${each.class}</th><td>${each.reason}</td></tr>`)
  return html`<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1><table>${rows}</table></html>`
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
