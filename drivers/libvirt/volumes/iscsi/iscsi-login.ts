import { createHash, randomBytes } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import type { IscsiConnection, Portal } from './iscsi-connection.ts'
import { IMMEDIATE, newHeader, OPCODES } from './pdu.ts'

/** A target as a host logs in to it. */
export interface IscsiLogin {
  readonly portal: Portal
  /** The target's name, such as `iqn.2003-01.org.example:storage`. */
  readonly target: string
  readonly initiator: string
  /** Absent: the target asks for no password. */
  readonly chap?: { readonly user: string; readonly password: string }
}

/** What the two sides have agreed on. */
export interface Agreed {
  /** Data may go with its command. */
  readonly immediateData: boolean
  /** The most bytes that the target takes in a unit. */
  readonly unitBytes: number
  /** The most that goes before the target asks for more. */
  readonly firstBytes: number
}

const STAGES = { security: 0, operational: 1, full: 3 } as const
type Stage = keyof typeof STAGES
const TRANSIT = 0x80
const CONTINUE = 0x40
/** A random session id (RFC 7143, 11.12.5). */
const RANDOM_ISID = 0x80
const ROUNDS_MAX = 20
/** CHAP's number for MD5, the one algorithm that every target has. */
const MD5 = '5'

const OPERATIONAL = {
  HeaderDigest: 'None',
  DataDigest: 'None',
  ErrorRecoveryLevel: '0',
  MaxConnections: '1',
  InitialR2T: 'Yes',
  ImmediateData: 'Yes',
  MaxRecvDataSegmentLength: '262144',
  MaxBurstLength: '262144',
  FirstBurstLength: '65536',
  MaxOutstandingR2T: '1',
  DataPDUInOrder: 'Yes',
  DataSequenceInOrder: 'Yes',
  DefaultTime2Wait: '2',
  DefaultTime2Retain: '0',
}

type Keys = Readonly<Record<string, string>>

/** Afterwards the target takes commands. Throws `forbidden` where it lets this host not in. */
export async function logIn(
  connection: IscsiConnection,
  { target, initiator, chap }: IscsiLogin,
): Promise<Agreed> {
  const isid = Buffer.concat([Buffer.from([RANDOM_ISID]), randomBytes(5)])
  const ask = (stage: Stage, keys: Keys, next?: Stage) =>
    askOnce(connection, { isid, target, stage, keys, next })
  const names = { InitiatorName: initiator, SessionType: 'Normal', TargetName: target }
  if (chap === undefined) {
    await ask('security', { ...names, AuthMethod: 'None' }, 'operational')
  } else {
    await ask('security', { ...names, AuthMethod: 'CHAP' })
    const challenge = await ask('security', { CHAP_A: MD5 })
    const keys = { CHAP_N: chap.user, CHAP_R: chapResponse(target, challenge, chap.password) }
    await ask('security', keys, 'operational')
  }
  const offered = await ask('operational', OPERATIONAL, 'full')
  return {
    immediateData: offered['ImmediateData'] !== 'No',
    unitBytes: Number(offered['MaxRecvDataSegmentLength'] ?? 8192),
    firstBytes: Number(offered['FirstBurstLength'] ?? 65536),
  }
}

/** MD5 of the identifier, the password and the challenge (RFC 1994). */
function chapResponse(target: string, { CHAP_I, CHAP_C }: Keys, password: string): string {
  if (CHAP_I === undefined || CHAP_C === undefined)
    throw refusal(target, 'it asks for another password than CHAP with MD5')
  const digest = createHash('md5')
    .update(Buffer.from([Number(CHAP_I)]))
    .update(password)
    .update(bytesOf(CHAP_C))
  return `0x${digest.digest('hex')}`
}

/** A value of many bytes is written in hexadecimal digits or in base 64. */
function bytesOf(value: string): Buffer {
  return /^0b/i.test(value)
    ? Buffer.from(value.slice(2), 'base64')
    : Buffer.from(value.slice(2), 'hex')
}

interface LoginRequest {
  readonly isid: Buffer
  readonly target: string
  readonly stage: Stage
  readonly keys: Keys
  /** Absent: the stage goes on. */
  readonly next: Stage | undefined
}

/** What the target says to these keys, once it is in the stage that is asked for. */
async function askOnce(connection: IscsiConnection, request: LoginRequest): Promise<Keys> {
  const { target, stage, next } = request
  let text = encodeKeys(request.keys)
  let said = ''
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    sendLogin(connection, request, text)
    text = Buffer.alloc(0)
    const { opcode, header, data } = await connection.receive()
    if (opcode !== OPCODES.loginResponse) throw refusal(target, `it answers with unit ${opcode}`)
    connection.answerNumber = header.readUInt32BE(24) + 1
    const status = header.readUInt16BE(36)
    if (status !== 0) throw refusal(target, loginStatus(status))
    said += data.toString('utf8')
    if ((header[1]! & CONTINUE) !== 0) continue
    const keys = decodeKeys(said)
    const rejected = Object.entries(keys).find(
      ([name, value]) => name === 'AuthMethod' && value === 'Reject',
    )
    if (rejected !== undefined) throw refusal(target, 'it does not take this way to log in')
    const isInNext = (header[1]! & TRANSIT) !== 0 && (header[1]! & 3) === STAGES[next ?? stage]
    if (next === undefined || isInNext) return keys
  }
  throw refusal(target, 'it does not end the login')
}

function sendLogin(
  connection: IscsiConnection,
  { isid, stage, next }: LoginRequest,
  text: Buffer,
): void {
  const to = next === undefined ? 0 : TRANSIT | STAGES[next]
  const header = newHeader(OPCODES.login | IMMEDIATE, to | (STAGES[stage] << 2))
  isid.copy(header, 8)
  header.writeUInt32BE(connection.commandNumber, 24)
  connection.send(header, text)
}

/** RFC 7143, 11.13.5; those that an operator can do something about. */
function loginStatus(status: number): string {
  if (status === 0x0201) return 'user name or password are wrong'
  if (status === 0x0202) return 'it does not let this initiator in'
  if (status === 0x0203) return 'it has no target of this name'
  return `it ends the login with status 0x${status.toString(16).padStart(4, '0')}`
}

function refusal(target: string, why: string): Failure {
  return new Failure('forbidden', `The iSCSI target ${target} refuses this host: ${why}.`)
}

function encodeKeys(keys: Keys): Buffer {
  return Buffer.from(
    Object.entries(keys)
      .map(([name, value]) => `${name}=${value}\0`)
      .join(''),
  )
}

function decodeKeys(text: string): Keys {
  const pairs = text.split('\0').filter((each) => each !== '')
  return Object.fromEntries(
    pairs.map((each) => {
      const at = each.indexOf('=')
      return [each.slice(0, at), each.slice(at + 1)]
    }),
  )
}
