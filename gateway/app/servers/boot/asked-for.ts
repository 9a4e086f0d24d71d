import { isMeantForNova } from '../../images/nova-properties.ts'
import type { BuildSpec } from './build-spec.ts'

/** The properties that the request for a server set and that still hold, as far as they are shown. */
export interface AskedFor {
  /** The zone it does not leave; null: it may run in any. */
  readonly zone: string | null
  readonly hints: SchedulerHints
  /** Of its image, as they were when it was made or rebuilt; only those that say something to Nova. */
  readonly imageProperties: Readonly<Record<string, string>>
  /** Ids of what a signature of its image may be checked with; null: none were named. */
  readonly trustedCertificates: readonly string[] | null
}

/** The scheduler hints given when the server was made, every value in a list, as Nova keeps it. */
export type SchedulerHints = Readonly<Record<string, readonly string[]>>

/** The properties that a request sets; null if it sets none, as for most servers. */
export function askedFor(spec: Omit<BuildSpec, 'nics'>, hints: SchedulerHints): AskedFor | null {
  const asked = { hints, ...askedOf(spec) }
  const { zone, imageProperties, trustedCertificates } = asked
  const isNothing = zone === null && trustedCertificates === null
  return isNothing && isEmpty(hints) && isEmpty(imageProperties) ? null : asked
}

/** The parts of a request that a later request may change. */
export function askedOf({
  zone,
  image,
  remarks,
}: Omit<BuildSpec, 'nics'>): Omit<AskedFor, 'hints'> {
  const properties = Object.entries(image.properties).filter(([name]) => isMeantForNova(name))
  return {
    zone,
    imageProperties: Object.fromEntries(properties),
    trustedCertificates: remarks?.trustedCertificates ?? null,
  }
}

function isEmpty(value: object): boolean {
  for (const _name in value) return false
  return true
}
