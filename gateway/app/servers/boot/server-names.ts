import { withoutTrailing } from '#common/without-trailing.ts'

/** A DNS label. */
const HOSTNAME_MAX = 63

export interface ServerName {
  readonly name: string
  readonly hostname: string
}

/**
 * The name and host name of the server at `index` of `count`. Several get the suffixes -1, -2, … as in Nova. A host
 * name that was asked for is taken as it is.
 */
export function serverName(
  asked: { readonly name: string; readonly hostname: string | null },
  id: string,
  index: number,
  count: number,
): ServerName {
  const suffix = count > 1 ? `-${index + 1}` : ''
  const name = `${asked.name}${suffix}`
  const made = () => sanitizeHostname(name) || sanitizeHostname(`server-${id}`)
  return { name, hostname: asked.hostname ?? made() }
}

/** What of a name can be a host name: letters, digits and inner dashes; '' when nothing is left. */
export function sanitizeHostname(name: string): string {
  const text = name
    .toLowerCase()
    .replace(/[\s_.]+/g, '-')
    .replace(/[^a-z0-9-]/g, '')
    .replace(/^-+/, '')
    .slice(0, HOSTNAME_MAX)
  return withoutTrailing(text, '-')
}
