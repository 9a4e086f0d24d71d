import type { PassthroughAttributes } from '#openapi/wire/instance.ts'
import { keptHints } from '../boot/hints.ts'
import type { ServerRequest } from '../boot/server-request.ts'

/** Hints that have an effect here, and name objects that only this cloud knows. */
const HEEDED_HINTS: readonly string[] = ['group', 'same_host', 'different_host']

/** The properties of a request that its cell does not need to build the server. */
export function remarksOf({
  description,
  tags,
  diskConfig,
  accessIPv4,
  accessIPv6,
  hints,
  trustedCertificates,
}: ServerRequest): PassthroughAttributes {
  const others = Object.entries(keptHints(hints)).filter(([name]) => !HEEDED_HINTS.includes(name))
  return {
    description,
    tags: [...tags],
    diskConfig,
    accessIPv4,
    accessIPv6,
    ...(trustedCertificates !== null && { trustedCertificates: [...trustedCertificates] }),
    hints: Object.fromEntries(others.map(([name, values]) => [name, [...values]])),
  }
}
