import type { PassthroughAttributes } from '#openapi/wire/instance.ts'
import { keptHints } from '../boot/hints.ts'
import type { ServerRequest } from '../boot/server-request.ts'

/** Hints that the gateway heeds, and that name objects that only this cloud knows. */
const HEEDED_HINTS: readonly string[] = [
  'group',
  'same_host',
  'different_host',
  'target_cell',
  'different_cell',
  'policy',
]

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
  return {
    description,
    tags: [...tags],
    diskConfig,
    accessIPv4,
    accessIPv6,
    ...(trustedCertificates !== null && { trustedCertificates: [...trustedCertificates] }),
    hints: passedHints(hints),
  }
}

/** The hints that the gateway itself does not heed, for the filters of a cell and for clouds below. */
export function passedHints(hints: ServerRequest['hints']): PassthroughAttributes['hints'] {
  const others = Object.entries(keptHints(hints)).filter(([name]) => !HEEDED_HINTS.includes(name))
  return Object.fromEntries(others.map(([name, values]) => [name, [...values]]))
}
