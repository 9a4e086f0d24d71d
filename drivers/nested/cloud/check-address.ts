import { lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Failure } from '#common/errors.ts'
import { isPublicAddress } from '#common/public-address.ts'
import type { NestedSettings } from '../settings.ts'

export type AddressRules = Pick<NestedSettings, 'networks' | 'allowsHttp'>

/**
 * The URL, if the rules let a token be sent there; throws `invalid`. A catalog names addresses too, and its author is
 * not trusted: `checkedLookup` checks the addresses that a name resolves to when it is dialled.
 */
export function checkCloudUrl(what: string, text: string, rules: AddressRules): URL {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw refused(what, text, 'is no http or https URL')
  if (url.username !== '' || url.password !== '')
    throw refused(what, url.host, 'holds a user or password')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (url.protocol === 'http:' && !rules.allowsHttp)
    throw refused(what, text, 'is not https; allow_http=true would send tokens in the clear')
  if (isIP(host) !== 0 && !isPublicAddress(host, rules.networks))
    throw refused(what, text, 'is not public; the setting networks can allow it')
  return url
}

/** Resolves names, and dials none of their addresses when one is not allowed. */
export function checkedLookup({ networks }: AddressRules): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '')
      const wrong = found.find(({ address }) => !isPublicAddress(address, networks))
      if (wrong !== undefined)
        return callback(new Error(`${hostname} is ${wrong.address}, which is not public`), '')
      if (options.all === true) return callback(null, found)
      const [first] = found
      return callback(null, first?.address ?? '', first?.family)
    })
  }
}

function refused(what: string, which: string, why: string): Failure {
  return new Failure('invalid', `${what}: ${which} ${why}.`)
}
