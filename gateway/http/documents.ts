import type { Hono } from 'hono'
import { LRUCache } from 'lru-cache'
import { type Contract, UNVERSIONED } from '#openapi/contract.ts'
import { type Microversion, parseMicroversion } from '#openapi/microversions.ts'
import { faultOf } from './faults.ts'
import { HttpRefusal } from './http-refusal.ts'
import { SERVICES } from './services.ts'

/** Projections kept as text; one is up to a megabyte. */
const KEPT_MAX = 16

/**
 * `GET /openapi`: the names of the documents with the microversions each has, oldest first, none for most.
 * `GET /openapi/<name>.json[?microversion=X.Y]`: the plain document of one microversion, the newest unless told, for
 * client generators. A malformed microversion is refused with 400, one that is not served with 406.
 */
export function registerDocuments(app: Hono, contracts: readonly Contract[]): void {
  const documents = contracts.map(({ name, versions }) => ({
    name,
    microversions: versions.filter((version) => version !== UNVERSIONED),
  }))
  app.get('/openapi', () => answer(JSON.stringify({ documents }), 200))
  const projections = new LRUCache<string, Projection>({ max: KEPT_MAX })
  for (const contract of contracts) {
    app.get(`/openapi/${contract.name}.json`, (c) => {
      try {
        const version = requestedVersion(contract, c.req.query('microversion'))
        return answer(documentText(contract, version, projections), 200)
      } catch (error) {
        const { body, status } = faultOf(error, SERVICES[contract.name].faults)
        return answer(body, status)
      }
    })
  }
}

function answer(body: string, status: number): Response {
  return new Response(body, { status, headers: { 'Content-Type': 'application/json' } })
}

function requestedVersion({ name, versions }: Contract, asked: string | undefined): Microversion {
  const newest = versions.at(-1) ?? UNVERSIONED
  if (asked === undefined || asked === 'latest') return newest
  const version = parseMicroversion(asked)
  if (versions.includes(version)) return version
  const served = newest === UNVERSIONED ? 'has no microversions' : `ends at ${newest}`
  throw new HttpRefusal(
    406,
    `Microversion ${version} is not served: ${name} ${served}. Leave microversion out for the newest.`,
  )
}

/** A projection, shared by the microversions that differ in nothing but their number. */
interface Projection {
  readonly info: object
  /** The rest of the document as JSON, without the brace it would begin with. */
  readonly rest: string
}

function documentText(
  contract: Contract,
  version: Microversion,
  projections: LRUCache<string, Projection>,
): string {
  const key = `${contract.name} ${contract.documentStretch(version)}`
  const projection = projections.get(key) ?? project(contract, version)
  projections.set(key, projection)
  const info = version === UNVERSIONED ? projection.info : { ...projection.info, version }
  return `{"info":${JSON.stringify(info)},${projection.rest}`
}

function project(contract: Contract, version: Microversion): Projection {
  const { info, ...rest } = contract.document(version)
  return { info: info as object, rest: JSON.stringify(rest).slice(1) }
}
