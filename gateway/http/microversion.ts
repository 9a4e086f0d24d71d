import {
  isSupported,
  MAX,
  MIN,
  type Microversion,
  parseMicroversion,
} from '#openapi/microversions.ts'
import { HttpRefusal } from './http-refusal.ts'

/** What every answer of a versioned service varies by. */
export const MICROVERSION_VARY = 'OpenStack-API-Version, X-OpenStack-Nova-API-Version'

/**
 * The Compute microversion a request asks for. The general header wins over Nova's own; entries for other
 * service types are not ours to judge (novaclient sends `compute` ones to the image service, too).
 * Throws `invalid` for a malformed version; refuses with 406 one that is not served.
 */
export function negotiateMicroversion(
  general: string | undefined,
  legacy: string | undefined,
): Microversion {
  const asked = (general === undefined ? undefined : computeEntry(general)) ?? legacy?.trim()
  if (asked === undefined) return MIN
  const version = parseMicroversion(asked)
  if (isSupported(version)) return version
  throw new HttpRefusal(
    406,
    `API version ${version} is not supported. Ask for one from ${MIN} to ${MAX}.`,
  )
}

/** The header may list several service types: `identity 3.1, compute 2.79`. */
function computeEntry(header: string): string | undefined {
  for (const entry of header.split(',')) {
    const [type, ...rest] = entry.trim().split(/\s+/)
    if (type?.toLowerCase() === 'compute') return rest.join(' ')
  }
  return undefined
}
