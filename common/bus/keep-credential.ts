import { fromSeed, type KeyPair } from '@nats-io/nkeys'
import type { Authenticator, NatsConnection } from '@nats-io/transport-node'
import { Agent, request } from 'undici'
import { addressesIn } from '../addresses.ts'
import type { Clock } from '../clock.ts'
import { Failure, isFailure } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { Reconciler, ReconcilerReport } from '../reconciler.ts'
import { withDeadline } from '../with-deadline.ts'
import {
  type Credential,
  endOf,
  isRenewalDue,
  readCredential,
  reissueCredential,
  renewalProof,
  writeCredential,
} from './credential.ts'
import { nativeKeyPair } from './native-key-pair.ts'

/** Gives a new JWT for the key of a credential. */
export type Renew = (current: Credential) => Promise<string>

const EVERY_MAX_MS = 10 * 60_000
/** Of the life of a credential: how often it is looked at. */
const EVERY_SHARE = 1 / 16
const CALL_LIMIT_MS = 15_000
const FLUSH_LIMIT_MS = 1_000
/** So many attempts to connect in a row, each answered by the bus, are taken as refusals. */
const REFUSALS_MIN = 8
const LOG_EVERY_MS = 60_000

/** Renews with the seed of the account that signed the credential, also when it has ended. */
export function renewWithSeed(accountSeed: string): Renew {
  return (current) => reissueCredential(current, accountSeed)
}

/**
 * Renews at a gateway, which knows the key by its signature: the first of these that answers, with
 * commas between them, or as they are known at that time.
 * `ca`: its certificate, in PEM, where the process does not
 * trust it anyway. Throws `unavailable` when no gateway answers, and `unauthenticated` with the gateway's reason when it
 * refuses: the credential has ended, or its holder was shut out, or its cell is none of the deployment's any more.
 */
export function renewAtGateway(
  gatewayUrls: string | (() => readonly string[]),
  ca?: string,
): Renew {
  return async ({ jwt, seed }) => {
    const key = fromSeed(new TextEncoder().encode(seed))
    const signature = Buffer.from(key.sign(renewalProof(jwt))).toString('base64url')
    let silent = new Failure('unavailable', 'No gateway is named that renews the credential.')
    for (const gatewayUrl of typeof gatewayUrls === 'string'
      ? addressesIn(gatewayUrls)
      : gatewayUrls()) {
      try {
        return await renewAt(gatewayUrl, ca, { credential: jwt, signature })
      } catch (error) {
        if (!isFailure(error, 'unavailable')) throw error
        silent = error
      }
    }
    throw silent
  }
}

async function renewAt(gatewayUrl: string, ca: string | undefined, asked: object): Promise<string> {
  const url = `${gatewayUrl}/federation/v1/join/renew`
  const { status, body } = await post(url, ca, asked)
  if (status === 200 && body.credential !== undefined) return body.credential
  const detail = body.detail ?? `${url} answered ${status}.`
  throw new Failure(status < 500 ? 'unauthenticated' : 'unavailable', detail)
}

interface Answered {
  readonly status: number
  readonly body: { readonly credential?: string; readonly detail?: string }
}

async function post(url: string, ca: string | undefined, asked: object): Promise<Answered> {
  const dispatcher = new Agent(ca === undefined ? {} : { connect: { ca } })
  try {
    const { statusCode: status, body } = await request(url, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked),
      signal: AbortSignal.timeout(CALL_LIMIT_MS),
    })
    return { status, body: (await body.json().catch(() => ({}))) as Answered['body'] }
  } catch (cause) {
    throw new Failure('unavailable', `${url} does not answer.`, { cause })
  } finally {
    await dispatcher.destroy()
  }
}

/** A credentials file, and the connection that uses it. */
export interface KeptCredential {
  readonly file: string
  /** Absent: another process replaces the file. */
  readonly renew?: Renew | undefined
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Keeps a credential good: it is renewed at half its life, and a connection that was opened with the former one is
 * opened again with the new one, before the bus closes it.
 */
export class CredentialRenewer {
  readonly #kept: KeptCredential
  #nats: NatsConnection | undefined
  /** The JWT that the connection was opened with, or is being opened with. */
  #used: string | undefined
  #signer: { readonly seed: string; readonly pair: KeyPair } | undefined
  #attempts = 0
  #loggedAt = -LOG_EVERY_MS

  constructor(kept: KeptCredential) {
    this.#kept = kept
  }

  /** Reads the file at each attempt to connect, and logs once a minute that the bus refuses the credential in it. */
  readonly authenticator: Authenticator = (nonce) => {
    const credential = readCredential(this.#kept.file)
    this.#used = credential.jwt
    this.#attempts += 1
    if (this.isRefused()) this.markRefused()
    const { jwt, claims } = credential
    return { jwt, nkey: claims.sub, sig: this.#signed(credential, nonce) }
  }

  /** As the client's own `jwtAuthenticator` does, whose JavaScript takes twenty milliseconds for it. */
  #signed({ seed }: Credential, nonce: string | undefined): string {
    if (this.#signer?.seed !== seed) this.#signer = { seed, pair: nativeKeyPair(seed) }
    if (nonce === undefined) return ''
    return Buffer.from(this.#signer.pair.sign(Buffer.from(nonce))).toString('base64')
  }

  /** True while the bus answers and does not take the credential. */
  isRefused(): boolean {
    return this.#attempts >= REFUSALS_MIN
  }

  /** The bus has taken the credential. */
  connected(nats?: NatsConnection): void {
    this.#nats = nats ?? this.#nats
    this.#attempts = 0
  }

  reconciler(): Reconciler {
    const everyMs = everyMsOf(readCredential(this.#kept.file))
    return { name: 'bus credential', everyMs, round: () => this.#round() }
  }

  async #round(): Promise<ReconcilerReport> {
    const { file, renew, clock, log } = this.#kept
    const credential = readCredential(file)
    const isDue = renew !== undefined && isRenewalDue(credential, clock.now())
    if (isDue) {
      writeCredential(file, await renew(credential), credential.seed)
      const end = endOf(readCredential(file))
      const endsAt = end === undefined ? undefined : new Date(end).toISOString()
      log.info({ holder: credential.claims.name, ends_at: endsAt }, 'bus credential renewed')
    }
    const isSwapped = await this.#swap()
    return { renewed: Number(isDue), swapped: Number(isSwapped) }
  }

  async #swap(): Promise<boolean> {
    const nats = this.#nats
    if (nats === undefined || nats.isClosed()) return false
    if (readCredential(this.#kept.file).jwt === this.#used) return false
    // Sent messages reach the bus before the connection is closed; subscriptions are opened again. A connection that is
    // lost is never flushed: it waits for the bus to take a credential, which may end before this ends.
    await withDeadline(FLUSH_LIMIT_MS, nats.flush()).catch(() => {})
    await nats.reconnect()
    return true
  }

  /** Logs, once a minute at the most, that the credential is refused, and why. */
  markRefused(): void {
    const { file, clock, log } = this.#kept
    if (clock.elapsed() - this.#loggedAt < LOG_EVERY_MS) return
    this.#loggedAt = clock.elapsed()
    const credential = readCredential(file)
    const holder = credential.claims.name
    void this.#whyRefused(credential).then((why) =>
      log.error({ holder, file, why }, 'bus refuses the credential'),
    )
  }

  async #whyRefused(credential: Credential): Promise<string> {
    const { renew, clock } = this.#kept
    const end = endOf(credential)
    if (end !== undefined && end <= clock.now())
      return `it ended at ${new Date(end).toISOString()}; docs/how-to/join-a-cell.md says how it is let in again`
    try {
      await renew?.(credential)
    } catch (error) {
      if (isFailure(error, 'unauthenticated')) return error.message
    }
    return 'its holder, or its whole cell, was shut out, or the bus does not know the account yet'
  }
}

function everyMsOf({ claims: { iat, exp } }: Credential): number {
  if (iat === undefined || exp === undefined) return EVERY_MAX_MS
  return Math.min(EVERY_MAX_MS, 1_000 * (exp - iat) * EVERY_SHARE)
}
