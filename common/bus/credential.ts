import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { encodeUser, fmtCreds, type User } from '@nats-io/jwt'
import { fromSeed } from '@nats-io/nkeys'

/** The claims in a user's JWT of the bus. */
export interface UserClaims {
  /** Public nkey of the user (`U…`). */
  readonly sub: string
  /** Public nkey of the account that signed it (`A…`). */
  readonly iss: string
  readonly name: string
  /** Seconds since the epoch. */
  readonly iat?: number
  /** Seconds since the epoch; absent: it has no end. */
  readonly exp?: number
  readonly nats: Partial<User>
}

/** The content of a credentials file: a signed right to act on the bus, and the private key that it is for. */
export interface Credential {
  readonly jwt: string
  readonly claims: UserClaims
  /** Private nkey (`SU…`): secret. */
  readonly seed: string
}

/** How long a credential lasts where nothing else is set. */
export const CREDENTIAL_LIFETIME_S = 30 * 86_400

/** The credential in a file as NATS tools write it. The signature is not verified: the bus does that. */
export function readCredential(file: string): Credential {
  const lines = readFileSync(file, 'utf8').split('\n')
  const [jwt, seed] = lines.filter((_, nth) => lines[nth - 1]?.startsWith('-----BEGIN ') === true)
  if (jwt === undefined || seed === undefined)
    throw new Error(`${file} is not a credentials file of NATS`)
  const body = Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()
  return { jwt, seed, claims: JSON.parse(body) as UserClaims }
}

/** Afterwards the file holds this right of the same key; a reader or a crash sees the old one or the new one. */
export function writeCredential(file: string, jwt: string, seed: string): void {
  const draft = `${file}.${process.pid}.new`
  const text = fmtCreds(jwt, fromSeed(new TextEncoder().encode(seed)))
  writeFileSync(draft, text, { mode: 0o600, flush: true })
  renameSync(draft, file)
}

/** When it ends, in milliseconds since the epoch; undefined: never. */
export function endOf({ claims: { exp } }: Credential): number | undefined {
  return exp === undefined ? undefined : exp * 1_000
}

/** True once half of its life is over. One without an end is due at once. `now` in milliseconds since the epoch. */
export function isRenewalDue({ claims: { iat, exp } }: Credential, now: number): boolean {
  if (iat === undefined || exp === undefined) return true
  return now / 1_000 >= (iat + exp) / 2
}

/** The same right of the same key, signed now by its account and good for as long as the present one was. */
export function reissueCredential({ claims }: Credential, accountSeed: string): Promise<string> {
  const { name, sub, iat, exp, nats } = claims
  const lifetimeS = iat === undefined || exp === undefined ? CREDENTIAL_LIFETIME_S : exp - iat
  const account = fromSeed(new TextEncoder().encode(accountSeed))
  return encodeUser(name, sub, account, nats, { exp: endAfter(lifetimeS) })
}

/** The `exp` of a credential that is signed now. */
export function endAfter(lifetimeS: number): number {
  return Math.floor(Date.now() / 1_000) + lifetimeS
}

/** The text that the holder of a credential signs with its key to renew it. No nonce of NATS begins like this. */
export function renewalProof(jwt: string): Uint8Array {
  return new TextEncoder().encode(`weir renew ${jwt}`)
}
