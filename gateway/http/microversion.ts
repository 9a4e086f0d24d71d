import { type Microversion, ordinal, parseMicroversion } from '#openapi/microversions.ts'
import { HttpRefusal } from './http-refusal.ts'

/** Asks in the general header as this service type, and in one of its own where it has one. */
export interface VersionedService {
  /** As in the general header. */
  readonly name: string
  /** Further types by which it is asked: gophercloud names the type in the catalog, and Cinder takes it. */
  readonly types?: readonly string[]
  /** Microversions served, oldest first. */
  readonly versions: readonly Microversion[]
}

/**
 * The microversion a request asks of a service. The general header wins over the service's own; entries for other
 * service types are not ours to judge (novaclient sends `compute` ones to the image service, too).
 * Throws `invalid` for a malformed version; refuses with 406 one that is not served.
 */
export function negotiateMicroversion(
  { name, types = [], versions }: VersionedService,
  general: string | undefined,
  legacy: string | undefined,
): Microversion {
  const [oldest] = versions
  const newest = versions.at(-1)
  if (oldest === undefined || newest === undefined) throw new Error(`${name} has no versions`)
  const asked =
    (general === undefined ? undefined : entryOf(general, [name, ...types])) ?? entryAlone(legacy)
  if (asked === undefined) return oldest
  const version = parseMicroversion(asked, newest)
  const at = ordinal(version)
  if (at >= ordinal(oldest) && at <= ordinal(newest)) return version
  throw new HttpRefusal(
    406,
    `API version ${version} is not supported. Ask for one from ${oldest} to ${newest}.`,
  )
}

/** An empty header is as none, as in Nova. */
function entryAlone(header: string | undefined): string | undefined {
  const entry = header?.trim()
  return entry === '' ? undefined : entry
}

/** The header may list several service types: `identity 3.1, compute 2.79`. */
function entryOf(header: string, services: readonly string[]): string | undefined {
  for (const entry of header.split(',')) {
    const [type, ...rest] = entry.trim().split(/\s+/)
    if (type !== undefined && services.includes(type.toLowerCase())) return rest.join(' ')
  }
  return undefined
}

/** The headers by which every answer of a service says its version, and what it varies by. */
export function versionHeaders(
  service: string,
  version: Microversion | '',
): Record<string, string> {
  const headers: Record<string, string> = {
    Vary: service === 'compute' ? `${GENERAL}, ${NOVA}` : GENERAL,
  }
  if (version === '') return headers
  headers[GENERAL] = `${service} ${version}`
  if (service === 'compute') headers[NOVA] = version
  return headers
}

const GENERAL = 'OpenStack-API-Version'
/** From before there was a general one. */
const NOVA = 'X-OpenStack-Nova-API-Version'
