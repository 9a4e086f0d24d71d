import { FIRST_GENERATION } from '#common/bus/site-generation.ts'
import { systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import { errorChain, Failure } from '#common/errors.ts'
import type { Logger } from '#common/log.ts'
import { readRelease } from '#common/release.ts'
import { secretsOf } from '#common/secrets.ts'
import { CertificateWatch } from '#common/tls/certificate-watch.ts'
import { MAX, MIN } from '#openapi/microversions.ts'
import { announcementOf } from './app/site/announcement.ts'
import { latestPromotion, SITE_PATH } from './app/site/ask-sites.ts'
import { type Standing, standingOf } from './app/site/standing.ts'
import type { GatewayConfig } from './config.ts'
import { listSites, readActiveSite, recordSuccessor, type Site } from './db/sites.ts'
import { faultOf } from './http/faults.ts'
import { normalPath } from './http/normal-path.ts'
import { ROTATION_PATH } from './http/probes.ts'
import { serviceAt } from './http/services.ts'
import { listenWith } from './listen.ts'
import { openDatabase } from './open-database.ts'

/** How late a gateway begins to serve after its site was promoted. */
const READ_MS = 250
const CONNECTIONS = 2

type OnStandby = Extract<Standing, { is: 'standby' }>

/**
 * The standing of the site of this gateway, from its database. Before a gateway of a site that may be active serves, it
 * asks the other sites whether one of them was promoted since. Throws `unavailable` while the database does not answer.
 */
export async function firstStanding(config: GatewayConfig): Promise<Standing> {
  if (config.site === undefined) return { is: 'active', generation: FIRST_GENERATION }
  await using db = openDatabase(config, CONNECTIONS)
  const { standing, sites } = await readStanding(db, config)
  if (standing.is === 'standby') return standing
  const others = sites.filter(({ name }) => name !== config.site)
  const promoted = await latestPromotion(secretsOf(config.secretKey), others)
  if (promoted === undefined || promoted.generation <= standing.generation) return standing
  await recordSuccessor(db, promoted)
  return (await readStanding(db, config)).standing
}

async function readStanding(
  db: Database,
  { site }: GatewayConfig,
): Promise<{ readonly standing: Standing; readonly sites: readonly Site[] }> {
  const [recorded, sites] = await Promise.all([readActiveSite(db), listSites(db)])
  return { standing: standingOf(site, recorded, sites), sites }
}

/**
 * A gateway of a site that is not active, until its site is, or `stopped`: every request is answered 503 with the name of
 * the site that is active. It reads its database, and does nothing else. Returns the standing after that.
 */
export async function serveStandby(
  config: GatewayConfig,
  log: Logger,
  begun: OnStandby,
  { stopped, onListening }: { readonly stopped: AbortSignal; readonly onListening: () => void },
): Promise<Standing> {
  await using parts = new AsyncDisposableStack()
  const db = parts.use(openDatabase(config, CONNECTIONS))
  const secrets = secretsOf(config.secretKey)
  let standing: OnStandby = begun
  let site: object = {}
  const certificate = config.tls && parts.use(new CertificateWatch(config.tls, systemClock, log))
  const fetch = (request: Request) => answer(request, standing, { site: config.site, ...site })
  parts.use(await listenWith(config, certificate, { fetch }))
  log.info({ reason: begun.reason }, 'gateway on standby')
  onListening()
  while (!stopped.aborted) {
    try {
      const read = await readStanding(db, config)
      if (read.standing.is === 'active') return read.standing
      standing = read.standing
      site = siteOf(standing, read.sites)
    } catch (error) {
      log.debug({ error: errorChain(error) }, 'standing not read')
    }
    await systemClock.sleep(READ_MS, stopped).catch(() => {})
  }
  return standing

  function siteOf({ active, generation }: OnStandby, sites: readonly Site[]): object {
    if (active === undefined) return {}
    const announcement = announcementOf(secrets, { name: active.name, generation }, sites)
    return { active, ...(announcement && { announcement }) }
  }
}

const RETRY_AFTER_S = '5'

function answer(request: Request, { reason }: OnStandby, site: object): Response {
  const path = normalPath(request)
  if (path === ROTATION_PATH)
    return Response.json({ status: 'not in rotation', reason }, { status: 404 })
  if (path === '/healthz') return Response.json({ status: 'ok' })
  if (path === '/version')
    return Response.json({ version: readRelease(), microversions: { min: MIN, max: MAX } })
  if (path === SITE_PATH) return Response.json({ ...site, is: 'standby', reason })
  const headers = { 'Retry-After': RETRY_AFTER_S }
  if (path === '/readyz')
    return Response.json({ status: 'not ready', reason }, { status: 503, headers })
  const fault = faultOf(new Failure('unavailable', reason), serviceAt(path).faults)
  return new Response(fault.body, {
    status: fault.status,
    headers: { ...headers, 'Content-Type': fault.contentType },
  })
}
