import { randomBytes, timingSafeEqual } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import { type BmcSettings, PRIVILEGES } from './bmc-settings.ts'
import { CIPHER_SUITES, type CipherSuite, type CipherSuiteId } from './cipher-suites.ts'
import { PAYLOADS, type Packet, plainDatagram, plainPacket } from './packet.ts'
import {
  bmcProof,
  consoleProof,
  type Handshake,
  keyProof,
  type SessionKeys,
  sessionKeys,
} from './rakp.ts'
import type { UdpExchange } from './udp-exchange.ts'

export interface OpenedSession {
  /** The BMC's number of the session, which every packet carries. */
  readonly bmcSession: number
  /** This side's number of the session, which every received packet carries. */
  readonly consoleSession: number
  readonly keys: SessionKeys
}

/** Statuses of IPMI 2.0, table 13-15. */
const STATUSES: Readonly<Record<number, string>> = {
  0x01: 'it has no room for another session',
  0x02: 'it has forgotten the session',
  0x09: 'the user may not have this privilege',
  0x0d: 'no such user',
  0x0f: 'the password is wrong',
}
const NO_SUCH_SUITE: readonly number[] = [0x03, 0x04, 0x05, 0x10, 0x11]
const TAG = 0
/** The user is looked up by name and privilege together. */
const LOOKUP_BOTH = 0x10
const RANDOM_BYTES = 16
const OPEN_ANSWER_BYTES = 12
const RAKP2_BYTES = 40
const RAKP4_BYTES = 8

/**
 * Opens a session with this cipher suite. Throws `unsupported` when the BMC does not have it, `unavailable` when it
 * refuses user or password, or when it cannot prove that it knows the password itself.
 */
export async function openSession(
  exchange: UdpExchange,
  settings: BmcSettings,
  suiteId: CipherSuiteId,
  signal: AbortSignal,
): Promise<OpenedSession> {
  const suite = CIPHER_SUITES[suiteId]
  // 0 would be no session.
  const consoleSession = (randomBytes(4).readUInt32LE() | 1) >>> 0
  const ids = { consoleSession, privilege: PRIVILEGES[settings.privilege] }
  const open = openRequest(suite, ids)
  const opened = await ask(exchange, PAYLOADS.openRequest, open, OPEN_ANSWER_BYTES, signal)
  const started = {
    suite,
    user: settings.user,
    password: settings.password,
    role: LOOKUP_BOTH | ids.privilege,
    consoleSession,
    bmcSession: opened.readUInt32LE(8),
    consoleRandom: randomBytes(RANDOM_BYTES),
  }
  const rakp2 = await ask(exchange, PAYLOADS.rakp1, rakp1(started), RAKP2_BYTES, signal)
  const handshake: Handshake = {
    ...started,
    bmcRandom: rakp2.subarray(8, 24),
    bmcGuid: rakp2.subarray(24, 40),
  }
  assertProof(rakp2.subarray(RAKP2_BYTES), bmcProof(handshake))
  const rakp4 = await ask(exchange, PAYLOADS.rakp3, rakp3(handshake), RAKP4_BYTES, signal)
  assertProof(rakp4.subarray(RAKP4_BYTES), keyProof(handshake))
  return {
    bmcSession: started.bmcSession,
    consoleSession,
    keys: sessionKeys(handshake),
  }
}

/** The answer to one step: it has the step's number plus one, and its tag. */
async function ask(
  exchange: UdpExchange,
  payload: number,
  content: Buffer,
  answerBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const answer = Promise.withResolvers<Buffer>()
  exchange.onDatagram((datagram) => {
    const packet = plainPacket(datagram)
    if (packet?.payload === payload + 1 && packet.content[0] === TAG) answer.resolve(packet.content)
  })
  const packet: Packet = { payload, session: 0, sequence: 0, content }
  const received = await exchange.repeat(() => plainDatagram(packet), answer.promise, signal)
  const status = received[1] ?? 0
  if (status !== 0) throw refusal(status)
  if (received.length < answerBytes)
    throw new Failure('unavailable', 'The BMC gave an invalid answer.', { detail: 'too short' })
  return received
}

function refusal(status: number): Failure {
  if (NO_SUCH_SUITE.includes(status))
    return new Failure('unsupported', 'The BMC does not have this cipher suite.')
  const detail = STATUSES[status] ?? `status 0x${status.toString(16)}`
  return new Failure('unavailable', 'The BMC refused the session.', { detail })
}

function assertProof(given: Uint8Array, expected: Uint8Array): void {
  if (given.length === expected.length && timingSafeEqual(given, expected)) return
  throw new Failure('unavailable', 'The BMC refused the session.', {
    detail: 'the password is not the one that the BMC has',
  })
}

function openRequest(
  { authentication, integrity, confidentiality }: CipherSuite,
  { consoleSession, privilege }: { readonly consoleSession: number; readonly privilege: number },
): Buffer {
  const algorithm = (kind: number, id: number) => [kind, 0, 0, 8, id, 0, 0, 0]
  return Buffer.concat([
    Buffer.from([TAG, privilege, 0, 0]),
    uint32(consoleSession),
    Buffer.from([
      ...algorithm(0, authentication),
      ...algorithm(1, integrity),
      ...algorithm(2, confidentiality),
    ]),
  ])
}

function rakp1({
  bmcSession,
  consoleRandom,
  role,
  user,
}: Pick<Handshake, 'bmcSession' | 'consoleRandom' | 'role' | 'user'>): Buffer {
  const name = Buffer.from(user)
  const who = Buffer.from([role, 0, 0, name.length])
  return Buffer.concat([Buffer.from([TAG, 0, 0, 0]), uint32(bmcSession), consoleRandom, who, name])
}

function rakp3(handshake: Handshake): Buffer {
  const head = Buffer.from([TAG, 0, 0, 0])
  return Buffer.concat([head, uint32(handshake.bmcSession), consoleProof(handshake)])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
