import { isIP } from 'node:net'
import { Failure } from '#common/errors.ts'
import { isPublicAddress } from '#common/public-address.ts'
import { bareHost } from '../../pinned-agent.ts'

/** Where images may be imported from. */
export interface ImportRules {
  /** The permitted names; empty: any. A leading dot permits every name below. */
  readonly hosts: readonly string[]
  readonly ports: readonly number[]
  /** Address blocks that are allowed although they are not public. */
  readonly networks: readonly string[]
  /** Of a whole import. */
  readonly timeoutMs: number
  /** A download that is slower for half a minute is aborted. */
  readonly bytesPerSecondMin: number
}

const SCHEME_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** The URL, if the rules permit it; throws `invalid`. The addresses of its name are checked when it is downloaded. */
export function checkImportUrl(text: string, rules: ImportRules): URL {
  const url = URL.parse(text)
  const usual = url === null ? undefined : SCHEME_PORTS[url.protocol]
  if (url === null || usual === undefined) throw refused('only http and https URLs can be imported')
  // Every part of a URL is shown in the task and logged by servers on the way.
  if (url.username !== '' || url.password !== '') throw refused('it holds credentials')
  const port = url.port === '' ? usual : Number(url.port)
  if (!rules.ports.includes(port)) throw refused(`port ${port} is not allowed`)
  const host = bareHost(url)
  if (!isAllowedHost(host, rules)) throw refused(`host ${host} is not allowed`)
  if (isIP(host) !== 0) checkImportAddress(host, rules)
  return url
}

/** Throws `invalid` for an address that is not public and not in an allowed block. */
export function checkImportAddress(address: string, { networks }: ImportRules): void {
  if (isPublicAddress(address, networks)) return
  throw refused(`address ${address} is not public`)
}

function isAllowedHost(host: string, { hosts }: ImportRules): boolean {
  if (hosts.length === 0) return true
  return hosts.some((name) => (name.startsWith('.') ? host.endsWith(name) : host === name))
}

function refused(why: string): Failure {
  return new Failure('invalid', `URI for web-download does not pass filtering: ${why}.`)
}
