import { randomBytes } from 'node:crypto'
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { CIPHER_SUITES, type CipherSuite, type CipherSuiteId } from '../cipher-suites.ts'
import {
  PAYLOADS,
  type Packet,
  plainDatagram,
  plainPacket,
  sealedDatagram,
  unsealedPacket,
} from '../packet.ts'
import { bmcProof, type Handshake, keyProof, type SessionKeys, sessionKeys } from '../rakp.ts'
import { checksummed, readCommand, type TestCommand } from './test-message.ts'

export interface TestBmcOptions {
  readonly suites: readonly CipherSuiteId[]
  readonly user: string
  readonly password: string
  /** The BMC's answer: a completion code and data. */
  readonly answer: (command: TestCommand) => readonly number[]
}

interface TestSession {
  readonly handshake: Handshake
  readonly keys: SessionKeys
  sent: number
}

const GUID = Buffer.from('a123456789abcdefa123456789abcdef', 'hex')
const GET_CHANNEL_AUTH = 0x38
const SET_PRIVILEGE = 0x3b
const CLOSE_SESSION = 0x3c
/** Channel 1, IPMI 2.0 with user names. */
const CHANNEL_AUTH = [0, 1, 0x80, 0x14, 0x02, 0, 0, 0, 0]

/** A BMC in this process: it loses and repeats datagrams on request, and speaks cipher suites that `ipmi_sim` does not. */
export class TestBmc implements Disposable {
  readonly #socket: Socket
  readonly #options: TestBmcOptions
  readonly #sessions = new Map<number, TestSession>()
  readonly #opening = new Map<number, Omit<Handshake, 'consoleRandom' | 'role'>>()
  /** How many of the datagrams that come next are lost. */
  loses = 0
  /** How many times it answers. */
  repeats = 1
  opened = 0

  private constructor(socket: Socket, options: TestBmcOptions) {
    this.#socket = socket
    this.#options = options
    socket.on('message', (datagram, from) => this.#receive(datagram, from))
  }

  static async start(options: TestBmcOptions): Promise<TestBmc> {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return new TestBmc(socket, options)
  }

  get port(): number {
    return this.#socket.address().port
  }

  get sessions(): number {
    return this.#sessions.size
  }

  /** As a BMC does that was restarted. */
  forgetSessions(): void {
    this.#sessions.clear()
  }

  [Symbol.dispose](): void {
    this.#socket.close()
  }

  #receive(datagram: Buffer, from: RemoteInfo): void {
    if (this.loses > 0) {
      this.loses -= 1
      return
    }
    const answer = this.#answerTo(datagram)
    for (let times = 0; answer !== undefined && times < this.repeats; times += 1)
      this.#socket.send(answer, from.port, from.address)
  }

  #answerTo(datagram: Buffer): Buffer | undefined {
    if (datagram[4] === 0) return unauthenticatedAnswer(datagram)
    const packet = plainPacket(datagram)
    if (packet !== undefined) return this.#step(packet)
    const session = this.#sessions.get(datagram.readUInt32LE(6))
    const sealed = session && unsealedPacket(datagram, session.keys)
    if (session === undefined || sealed?.payload !== PAYLOADS.command) return undefined
    return this.#commanded(session, readCommand(sealed.content))
  }

  #step({ payload, content }: Packet): Buffer | undefined {
    if (payload === PAYLOADS.openRequest) return this.#open(content)
    if (payload === PAYLOADS.rakp1) return this.#prove(content)
    if (payload === PAYLOADS.rakp3) return this.#start(content)
    return undefined
  }

  #open(content: Buffer): Buffer {
    const suite = this.#options.suites
      .map((id) => CIPHER_SUITES[id])
      .find(({ authentication }) => authentication === content[12])
    if (suite === undefined) return plain(PAYLOADS.openAnswer, [content[0] ?? 0, 0x11, 0, 0])
    const bmcSession = this.#opening.size + 0x100
    const consoleSession = content.readUInt32LE(4)
    const { user, password } = this.#options
    const random = { bmcRandom: randomBytes(16), bmcGuid: GUID }
    this.#opening.set(bmcSession, { suite, user, password, consoleSession, bmcSession, ...random })
    const head = [content[0] ?? 0, 0, 4, 0, ...uint32(consoleSession), ...uint32(bmcSession)]
    return plain(PAYLOADS.openAnswer, [...head, ...algorithms(suite)])
  }

  #prove(content: Buffer): Buffer | undefined {
    const opening = this.#opening.get(content.readUInt32LE(4))
    if (opening === undefined) return undefined
    const tag = content[0] ?? 0
    const to = uint32(opening.consoleSession)
    if (content.subarray(28).toString() !== opening.user)
      return plain(PAYLOADS.rakp2, [tag, 0x0d, 0, 0, ...to])
    const asked = { consoleRandom: content.subarray(8, 24), role: content[24] ?? 0 }
    const handshake: Handshake = { ...opening, ...asked }
    const keys = sessionKeys(handshake)
    this.#sessions.set(opening.bmcSession, { handshake, keys, sent: 0 })
    const proof = [...opening.bmcRandom, ...opening.bmcGuid, ...bmcProof(handshake)]
    return plain(PAYLOADS.rakp2, [tag, 0, 0, 0, ...to, ...proof])
  }

  #start(content: Buffer): Buffer | undefined {
    const session = this.#sessions.get(content.readUInt32LE(4))
    if (session === undefined) return undefined
    this.opened += 1
    const to = uint32(session.handshake.consoleSession)
    const proof = keyProof(session.handshake)
    return plain(PAYLOADS.rakp4, [content[0] ?? 0, 0, 0, 0, ...to, ...proof])
  }

  #commanded(session: TestSession, command: TestCommand): Buffer {
    const { handshake, keys } = session
    const answer = this.#answerOf(command)
    const content = checksummed(command, answer)
    if (command.netFunction === 0x06 && command.code === CLOSE_SESSION)
      this.#sessions.delete(handshake.bmcSession)
    session.sent += 1
    const to = { session: handshake.consoleSession, sequence: session.sent }
    return sealedDatagram({ payload: PAYLOADS.command, ...to, content }, keys, randomBytes(16))
  }

  #answerOf(command: TestCommand): readonly number[] {
    if (command.netFunction === 0x06 && command.code === SET_PRIVILEGE) return [0, ...command.data]
    if (command.netFunction === 0x06 && command.code === CLOSE_SESSION) return [0]
    return this.#options.answer(command)
  }
}

/** What ipmitool asks in the manner of IPMI 1.5 before it opens a session. */
function unauthenticatedAnswer(datagram: Buffer): Buffer | undefined {
  const command = readCommand(datagram.subarray(14))
  if (command.code !== GET_CHANNEL_AUTH) return undefined
  const content = checksummed(command, CHANNEL_AUTH)
  const header = Buffer.concat([datagram.subarray(0, 13), Buffer.from([content.length])])
  return Buffer.concat([header, content])
}

function plain(payload: number, content: readonly number[]): Buffer {
  return plainDatagram({ payload, session: 0, sequence: 0, content: Buffer.from(content) })
}

function algorithms({ authentication, integrity, confidentiality }: CipherSuite): number[] {
  return [authentication, integrity, confidentiality].flatMap((id, kind) => [
    ...[kind, 0, 0, 8],
    ...[id, 0, 0, 0],
  ])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
