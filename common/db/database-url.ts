import { Failure } from '../errors.ts'
import { connectionTo } from './connection-options.ts'

const SEVERAL = /^(mysql:\/\/(?:[^/@]*@)?)([^/@]+)(\/.*)?$/

/**
 * A URL for each server of `mysql://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE`, in the same order. Throws `invalid`,
 * without the password, for text that is no such URL.
 */
export function databaseUrls(text: string): readonly [string, ...string[]] {
  const [, before = '', hosts = '', after = ''] = SEVERAL.exec(text) ?? []
  const urls = hosts.split(',').map((host) => `${before}${host.trim()}${after}`)
  const wrong = urls.find((url) => !URL.canParse(url) || new URL(url).hostname === '')
  if (wrong !== undefined)
    throw new Failure(
      'invalid',
      'A database is named as mysql://USER:PASSWORD@HOST:PORT/DATABASE, with a comma between the HOST:PORT of several servers, and ?ssl-ca=FILE at the end for encryption.',
    )
  for (const url of urls) connectionTo(url)
  return urls as [string, ...string[]]
}

/** The URL that names all servers of these URLs, whose account and database are those of the first. */
export function joinDatabaseUrls([first, ...others]: readonly [string, ...string[]]): string {
  const own = new URL(first).host
  return first.replace(own, [own, ...others.map((url) => new URL(url).host)].join(','))
}

/** The same servers and account, with another database. */
export function withDatabase(text: string, database: string): string {
  const [first, ...others] = databaseUrls(text).map((each) => {
    const url = new URL(each)
    url.pathname = database
    return url.href
  })
  return joinDatabaseUrls([first!, ...others])
}
