import { withoutTrailing } from '#common/without-trailing.ts'
import type { HeaderReader, HttpInput } from './http-input.ts'

/** Where this deployment is reached from outside; every link and catalog entry starts with it. */
export interface Links {
  /** `scheme://host[:port][/prefix]`, without a slash at its end. */
  readonly root: string
  /** An absolute URL for a path that starts with a slash. */
  to(path: string): string
  /** The identity service, wherever it is. */
  readonly identity: string
}

/** `host`, `host:port`, `[v6]:port`: anything else in a Host header could break out of the link it is put in. */
const HOST = /^(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/
const PREFIX = /^(?:\/[A-Za-z0-9._~-]{1,64}){0,8}$/

/** Makes the `Links` of a request. */
export type LinksSource = (
  input: Pick<HttpInput, 'header' | 'peerAddress' | 'isEncrypted'>,
) => Links

/**
 * Links start with the configured public URL, else with what the client says it called. X-Forwarded-* counts
 * only from a peer that `isTrustedProxy` knows. `identityUrl`: of an identity service elsewhere.
 */
export function linksSource(
  publicUrl: string | undefined,
  isTrustedProxy: (address: string | undefined) => boolean,
  identityUrl?: string,
): LinksSource {
  if (publicUrl !== undefined) {
    const fixed = linksFrom(withoutTrailing(publicUrl, '/'), identityUrl)
    return () => fixed
  }
  return ({ header, peerAddress, isEncrypted = false }) => {
    const forwarded = isTrustedProxy(peerAddress) ? forwardedRoot(header) : undefined
    return linksFrom(forwarded ?? calledRoot(header, isEncrypted), identityUrl)
  }
}

function linksFrom(root: string, identityUrl = `${root}/identity`): Links {
  return { root, to: (path) => root + path, identity: identityUrl }
}

function calledRoot(header: HeaderReader, isEncrypted: boolean): string {
  const host = header('host')
  const scheme = isEncrypted ? 'https' : 'http'
  return `${scheme}://${host !== undefined && HOST.test(host) ? host : 'localhost'}`
}

function forwardedRoot(header: HeaderReader): string | undefined {
  const host = first(header('x-forwarded-host')) ?? header('host')
  if (host === undefined || !HOST.test(host)) return undefined
  const scheme = first(header('x-forwarded-proto')) === 'https' ? 'https' : 'http'
  const prefix = withoutTrailing(first(header('x-forwarded-prefix')) ?? '', '/')
  return `${scheme}://${host}${PREFIX.test(prefix) ? prefix : ''}`
}

/** Each proxy appends; the first is what the client called. */
function first(list: string | undefined): string | undefined {
  return list?.split(',', 1)[0]?.trim()
}
