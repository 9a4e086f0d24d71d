import { isMeantForNova } from '../../images/nova-properties.ts'
import type { BuildSpec } from './build-spec.ts'

/** The properties that the request for a server set and that still hold, as far as they are shown. */
export interface RequestedProperties {
  /** The zone that the server does not leave; null: it may run in any zone. */
  readonly zone: string | null
  readonly hints: SchedulerHints
  /** Of the image, as they were at the boot or the last rebuild; only those that Nova interprets. */
  readonly imageProperties: Readonly<Record<string, string>>
  /** Ids of the certificates that may verify the image's signature; null if the request named none. */
  readonly trustedCertificates: readonly string[] | null
}

/** The scheduler hints given when the server was made, every value in a list, as Nova keeps it. */
export type SchedulerHints = Readonly<Record<string, readonly string[]>>

/** The properties that a request sets; null if it sets none, as for most servers. */
export function requestedProperties(
  spec: Omit<BuildSpec, 'nics'>,
  hints: SchedulerHints,
): RequestedProperties | null {
  const requested = { hints, ...changeableProperties(spec) }
  const { zone, imageProperties, trustedCertificates } = requested
  const isNothing = zone === null && trustedCertificates === null
  return isNothing && isEmpty(hints) && isEmpty(imageProperties) ? null : requested
}

/** The parts of a request that a later request may change. */
export function changeableProperties({
  zone,
  image,
  remarks,
}: Omit<BuildSpec, 'nics'>): Omit<RequestedProperties, 'hints'> {
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
