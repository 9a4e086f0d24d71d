import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { SslOptions } from 'mysql2'
import { Failure } from '../errors.ts'

/** The part of a database's URL that names the certificates which its servers are recognized by. */
export const CA_PARAMETER = 'ssl-ca'

/** How mysql2 reaches one server. */
export interface ServerConnection {
  readonly uri: string
  readonly ssl?: SslOptions
}

/**
 * How to connect to the server of a URL. With `?ssl-ca=FILE` the connection is encrypted, and refused unless the server
 * has a certificate from an authority of that file, which is read now and for each connection; a server that is named, not numbered, needs one
 * for its name. Throws `invalid` for another parameter, and for a file that cannot be read.
 */
export function connectionTo(url: string): ServerConnection {
  const plain = new URL(url)
  const file = plain.searchParams.get(CA_PARAMETER)
  const others = [...plain.searchParams.keys()].filter((name) => name !== CA_PARAMETER)
  if (others.length > 0)
    throw new Failure(
      'invalid',
      `The URL of a database has the parameter ${others[0]}, and ${CA_PARAMETER} is the only one that it may have.`,
    )
  if (file === null) return { uri: url }
  plain.search = ''
  // mysql2 compares the names of certificates only with names.
  const verifyIdentity = isIP(plain.hostname.replace(/^\[|\]$/g, '')) === 0
  let ca = readCa(file)
  return {
    uri: plain.href,
    ssl: {
      verifyIdentity,
      // mysql2 asks for it at each connection, and must get what there is.
      get ca() {
        ca = readCaOr(ca, file)
        return ca
      },
    },
  }
}

function readCaOr(former: string, file: string): string {
  try {
    return readCa(file)
  } catch {
    return former
  }
}

function readCa(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Failure(
      'invalid',
      `${file}, which the URL of a database names as ${CA_PARAMETER}, cannot be read.`,
      { cause },
    )
  }
}
