import type { Account, Import, NatsLimits, OperatorLimits, Permissions } from '@nats-io/jwt'
import { HOST_PAYLOAD_MAX } from '#openapi/wire/host.ts'

/** The part of a cell's account that the gateways' account needs to import its exports. */
export interface CellAccount {
  readonly cellId: string
  /** Public nkey of the account (`A…`). */
  readonly publicKey: string
  /** The cell account's signed permission for the gateways' account, for its service and for its feed. */
  readonly serviceActivation: string
  readonly feedActivation: string
}

/** NATS reads an absent limit as 0, not as "none"; a client then hangs in reconnecting. */
const UNLIMITED: OperatorLimits = {
  conn: -1,
  subs: -1,
  data: -1,
  payload: -1,
  imports: -1,
  exports: -1,
  leaf: -1,
  wildcards: true,
}

/** The limits of one cell's account: enough for thousands of hosts, and not the whole bus. */
const CELL_LIMITS: OperatorLimits = {
  ...UNLIMITED,
  conn: 4_096,
  subs: 200_000,
  // A bus of its own, and the connection that it left behind when it was cut off.
  leaf: 4,
  imports: 0,
  exports: 2,
}

/** Of one host: it hears some twenty subjects, and one more for each console that is open. */
const HOST_SUBSCRIPTIONS_MAX = 500

/** The end of the year 9999, in seconds since the epoch. */
const END_OF_TIME_S = 253_402_300_799

/** Longest time between a request to a host and its answer: a large image may have to be fetched first. */
const HOST_REPLY_NS = 30 * 60 * 1_000_000_000

/** Subjects a cell serves: `cell.<cell>.<version>.<operation>`. */
export function cellServiceSubject(cellId: string): string {
  return `cell.${token(cellId)}.>`
}

/** Subjects a cell publishes its change feed and heartbeats on. */
export function cellFeedSubject(cellId: string): string {
  return `ev.${token(cellId)}.>`
}

/** Claims of the account the server itself reports in and takes new accounts through. */
export function systemAccount(): Partial<Account> {
  return { limits: UNLIMITED }
}

/** Claims of the gateways' account: it reaches exactly these cells. Pure, so it can be rebuilt at any time. */
export function gatewayAccount(cells: readonly CellAccount[]): Partial<Account> {
  return { limits: UNLIMITED, imports: cells.flatMap(importsOf) }
}

/**
 * Claims of a cell's account: its exports can be imported only with an activation it signed, and it imports nothing.
 * The holder of its keys therefore sees and reaches this account alone. Connections of the users whose public nkeys
 * are in `shutOut` are closed, and all their credentials are refused, whenever they were signed.
 */
export function cellAccount(cellId: string, shutOut: readonly string[] = []): Partial<Account> {
  return {
    limits: CELL_LIMITS,
    ...(shutOut.length === 0
      ? {}
      : { revocations: Object.fromEntries(shutOut.map((key) => [key, END_OF_TIME_S])) }),
    exports: [
      { name: 'service', type: 'service', subject: cellServiceSubject(cellId), token_req: true },
      { name: 'feed', type: 'stream', subject: cellFeedSubject(cellId), token_req: true },
    ],
  }
}

/** Claims that close every connection of an account and refuse all its credentials, whenever they were issued. */
export function revokedAccount(): Partial<Account> {
  return { limits: UNLIMITED, revocations: { '*': END_OF_TIME_S } }
}

/** A gateway, or a cell's own processes: everything of their account but the server's own subjects. */
export const SERVER_SIDE_PERMISSIONS: Permissions = {
  pub: { allow: ['>'], deny: ['$SYS.>'] },
  sub: { allow: ['>'], deny: ['$SYS.>'] },
}

/** The user that creates accounts on a running bus: it hands them to the servers, and may do nothing else. */
export const OPERATOR_PERMISSIONS: Permissions = {
  pub: { allow: ['$SYS.REQ.CLAIMS.UPDATE'] },
  sub: { allow: ['_INBOX.>'] },
}

/** The rights of a credential, and its limits. */
export type BusRights = Permissions & Partial<NatsLimits>

/** A compute process: hears its own orders, questions of gateways about its consoles, and replies, answers them, and reports as its own host only. */
export function computePermissions(cellId: string, hostId: string): BusRights {
  const own = `${token(cellId)}.${token(hostId)}`
  return {
    sub: {
      allow: [
        `host.${own}.>`,
        // Gateways ask it for consoles directly, within what its cell serves them.
        `cell.${token(cellId)}.host.${token(hostId)}.>`,
        `${computeInboxPrefix(hostId)}.>`,
      ],
    },
    pub: { allow: [`up.${own}.>`] },
    resp: { max: 1, ttl: HOST_REPLY_NS },
    subs: HOST_SUBSCRIPTIONS_MAX,
    payload: HOST_PAYLOAD_MAX,
  }
}

/** The inbox prefix of a compute process: it cannot read replies to other hosts. */
export function computeInboxPrefix(hostId: string): string {
  return `_INBOX.${token(hostId)}`
}

function importsOf(cell: CellAccount): Import[] {
  const from = { account: cell.publicKey, name: cell.cellId }
  return [
    {
      ...from,
      type: 'service',
      subject: cellServiceSubject(cell.cellId),
      token: cell.serviceActivation,
    },
    { ...from, type: 'stream', subject: cellFeedSubject(cell.cellId), token: cell.feedActivation },
  ]
}

/** Ids become parts of subjects: a dot or wildcard in one would reach into another cell's. */
function token(id: string): string {
  if (!/^[A-Za-z0-9_-]+$/.test(id)) throw new Error(`'${id}' cannot be part of a subject`)
  return id
}
