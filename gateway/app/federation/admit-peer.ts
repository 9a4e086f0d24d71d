import type { UserClaims } from '#common/bus/credential.ts'
import { verifyWithKey } from '#common/bus/native-key-pair.ts'
import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isShutOut } from '../../db/bus-keys.ts'
import { findAccountByKey } from '../../db/cell-accounts.ts'

/** What brings back a peer whose credential is good no more. */
export const HOW_TO_REJOIN =
  'An administrator makes a token with which it joins again, in the same directory: ./weir cell token create CELL [--host HOST] --renew'

/** A holder of a credential of a cell's account, who has just shown that the private key is theirs. */
export interface BusPeer {
  /** Public nkey of the user (`U…`). */
  readonly publicKey: string
  /** Public nkey of the account that signed for it (`A…`). */
  readonly account: string
}

/**
 * Who sends this CONNECT in answer to an INFO with this nonce. Throws `unauthenticated` for anything but a credential
 * that an account of a cell signed, which is still good, that has not ended and whose private key signed the nonce.
 * `now` in milliseconds since the epoch.
 */
export async function admitPeer(
  db: Executor,
  connectLine: string,
  nonce: string,
  now: number,
): Promise<BusPeer> {
  const peer = peerOf(connectLine, nonce, now)
  if ((await findAccountByKey(db, peer.account)) === undefined)
    throw refused('its credential is of no cell that is here')
  if (await isShutOut(db, peer.publicKey)) throw refused('it was shut out')
  return peer
}

function peerOf(connectLine: string, nonce: string, now: number): BusPeer {
  const { jwt, sig } = connectOf(connectLine)
  const claims = readCredential(jwt, now)
  if (!verifyWithKey(claims.sub, Buffer.from(nonce), Buffer.from(sig, 'base64url')))
    throw refused('the nonce is not signed by the key of the credential')
  return { publicKey: claims.sub, account: claims.iss }
}

/**
 * The claims of a credential, a user's JWT, which the account that it names has signed. Throws `unauthenticated` for
 * any other text, and for an expired credential. `now` in milliseconds since the epoch.
 */
export function readCredential(jwt: string, now: number): UserClaims {
  const [header = '', body = '', signature = ''] = jwt.split('.')
  const claims = claimsOf(body)
  const { type, issuer_account: issuer } = claims.nats as Partial<Record<string, unknown>>
  // Credentials of this deployment are signed by the account key itself: a signing key of the account could carry
  // limits that are unknown here.
  if (type !== 'user' || issuer !== undefined) throw refused('it is no credential of Weir')
  const signed = Buffer.from(`${header}.${body}`)
  if (!verifyWithKey(claims.iss, signed, Buffer.from(signature, 'base64url')))
    throw refused('the credential is not signed by its account')
  if (claims.exp !== undefined && claims.exp * 1_000 <= now)
    throw refused(
      `the credential ended at ${new Date(claims.exp * 1_000).toISOString()}. ${HOW_TO_REJOIN}`,
    )
  return claims
}

function connectOf(line: string): { readonly jwt: string; readonly sig: string } {
  const json = /^CONNECT +(?<json>\{.*\})\s*$/.exec(line)?.groups?.['json']
  const claims = json === undefined ? undefined : parsed(json)
  const { jwt, sig } = (claims ?? {}) as { readonly jwt?: unknown; readonly sig?: unknown }
  if (typeof jwt !== 'string' || typeof sig !== 'string')
    throw refused('it does not begin with a CONNECT that has a credential')
  return { jwt, sig }
}

function claimsOf(body: string): UserClaims {
  const claims = parsed(Buffer.from(body, 'base64url').toString()) as Partial<UserClaims> | null
  const { iss, sub, name = '', exp, nats } = claims ?? {}
  const isWhole = typeof iss === 'string' && typeof sub === 'string' && typeof nats === 'object'
  if (!isWhole || nats === null || (exp !== undefined && typeof exp !== 'number'))
    throw refused('its credential cannot be read')
  return { iss, sub, name, nats, ...(exp === undefined ? {} : { exp }) }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

function refused(why: string): Failure {
  return new Failure('unauthenticated', `The bus refuses this peer: ${why}.`)
}
