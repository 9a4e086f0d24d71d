import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'
import { Failure } from '#common/errors.ts'

/** `v1.<expiry, ms since the epoch>.<cell id>.<HMAC-SHA-256, base64url>` */
const TICKET = /^v1\.(\d{1,15})\.([0-9a-f-]{36})\.([A-Za-z0-9_-]{43})$/

/** The use of an image that a ticket permits to a cell. */
export type TicketUse = 'read' | 'fill'

export interface TicketClaim {
  readonly use: TicketUse
  readonly imageId: string
  readonly cellId: string
  readonly expiresAtMs: number
}

const KEY_BYTES = 32
const LABELS: Readonly<Record<TicketUse, string>> = {
  read: 'weir image ticket v1',
  fill: 'weir image upload ticket v1',
}

/** The key for tickets alone, derived from the deployment's secret (RFC 5869). */
export function ticketKey(secretHex: string): KeyObject {
  const secret = Buffer.from(secretHex, 'hex')
  const key = hkdfSync('sha256', secret, '', 'weir image tickets', KEY_BYTES)
  return createSecretKey(new Uint8Array(key))
}

/** A bearer proof that this cell may use this image so until the expiry. */
export function issueTicket(key: KeyObject, claim: TicketClaim): string {
  return `v1.${claim.expiresAtMs}.${claim.cellId}.${macOf(key, claim).toString('base64url')}`
}

/** The cell the ticket was made for. Throws `unauthenticated` unless it is genuine, for this image and use, and in time. */
export function checkTicket(
  key: KeyObject,
  given: {
    readonly use: TicketUse
    readonly ticket: string
    readonly imageId: string
    readonly nowMs: number
  },
): string {
  const parts = TICKET.exec(given.ticket)
  if (parts === null) throw refused()
  const [, expiry, cellId, mac] = parts as unknown as [string, string, string, string]
  const expiresAtMs = Number(expiry)
  const genuine = macOf(key, { use: given.use, imageId: given.imageId, cellId, expiresAtMs })
  if (!timingSafeEqual(genuine, Buffer.from(mac, 'base64url'))) throw refused()
  if (expiresAtMs <= given.nowMs) throw refused()
  return cellId
}

/** The labels keep these from being valid as anything else the key may ever sign. */
function macOf(key: KeyObject, claim: TicketClaim): Buffer {
  return createHmac('sha256', key)
    .update(`${LABELS[claim.use]}\n${claim.imageId}\n${claim.cellId}\n${claim.expiresAtMs}`)
    .digest()
}

function refused(): Failure {
  return new Failure('unauthenticated', 'The image ticket is not valid for this image.')
}
