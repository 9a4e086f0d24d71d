import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { encodePdu, FINAL, NO_TAG, newHeader, OPCODES, type Pdu, PduFramer } from './pdu.ts'

const BLOCK_BYTES = 512
/** Less than a label, so that the target has to ask for the rest. */
const FIRST_BYTES = 512
/** In a unit with data. */
const HAS_STATUS = 0x01
const STATUS = { good: 0x00, check: 0x02, conflict: 0x18 } as const
const SENSE = { illegalRequest: 0x05, unitAttention: 0x06, miscompare: 0x0e } as const

/** A target of iSCSI in this process, whose LUNs are in memory. Its LUN 0 is no disk. */
export interface MemoryTarget extends AsyncDisposable {
  readonly port: number
  readonly luns: Map<number, Buffer>
  /** Initiators have registered for reservations of these LUNs. */
  readonly registered: Set<number>
}

export interface MemoryTargetOptions {
  readonly name: string
  readonly luns: Readonly<Record<number, Buffer>>
  readonly chap?: { readonly user: string; readonly password: string }
  /** True: it knows COMPARE AND WRITE. */
  readonly compares?: boolean
}

export async function startMemoryTarget(options: MemoryTargetOptions): Promise<MemoryTarget> {
  const sockets = new Set<Socket>()
  const reserved = new Map<number, Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      for (const [lun, holder] of reserved) if (holder === socket) reserved.delete(lun)
    })
    serve(socket, { options, target, reserved })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const target: MemoryTarget = {
    port: (server.address() as AddressInfo).port,
    luns: new Map(Object.entries(options.luns).map(([lun, bytes]) => [Number(lun), bytes])),
    registered: new Set(),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return target
}

interface World {
  readonly options: MemoryTargetOptions
  readonly target: MemoryTarget
  readonly reserved: Map<number, Socket>
}

/** A write whose data is on its way. */
interface Write {
  /** The data is compared with the first half, and is the second. */
  readonly compares: boolean
  readonly lun: number
  readonly block: number
  readonly data: Buffer
}

/** One connection from its login on. */
function serve(socket: Socket, world: World): void {
  const framer = new PduFramer()
  const session = new Session(socket, world)
  socket.on('data', (chunk) => {
    for (const pdu of framer.push(chunk)) session.take(pdu)
  })
}

class Session {
  readonly #socket: Socket
  readonly #world: World
  readonly #challenge = randomBytes(16)
  /** LUNs that have said that they were switched on. */
  readonly #told = new Set<number>()
  #answer = 1
  #write: Write | undefined

  constructor(socket: Socket, world: World) {
    this.#socket = socket
    this.#world = world
  }

  take(pdu: Pdu): void {
    if (pdu.opcode === OPCODES.login) this.#login(pdu)
    else if (pdu.opcode === OPCODES.command) this.#command(pdu)
    else if (pdu.opcode === OPCODES.dataOut) this.#receive(pdu)
    else if (pdu.opcode === OPCODES.logout) this.#socket.end()
  }

  #login({ header, data }: Pdu): void {
    const pairs = data.toString().split('\0')
    const keys = new Map(pairs.map((each) => each.split('=', 2) as [string, string]))
    const { said, status } = loginAnswer(keys, this.#world.options, this.#challenge)
    const isEnd = said !== undefined && (header[1]! & FINAL) !== 0
    const texts = Object.entries(said ?? {}).map(([name, value]) => `${name}=${value}\0`)
    const answer = this.#answerTo(header, OPCODES.loginResponse, header[1]! & (isEnd ? 0xff : 0x0c))
    answer.writeUInt16BE(status, 36)
    this.#send(answer, Buffer.from(texts.join('')))
  }

  #command({ header, data }: Pdu): void {
    const lun = header[9]!
    const cdb = header.subarray(32, 48)
    const { reserved, target } = this.#world
    const holder = reserved.get(lun)
    if (holder !== undefined && holder !== this.#socket)
      return this.#respond(header, STATUS.conflict)
    const disk = target.luns.get(lun) ?? Buffer.alloc(0)
    if (cdb[0] === 0xa0) return this.#give(header, listOf([0, ...target.luns.keys()]))
    if (cdb[0] === 0x12) return this.#give(header, Buffer.from([target.luns.has(lun) ? 0 : 0x0c]))
    if (!this.#told.has(lun)) {
      this.#told.add(lun)
      return this.#respond(header, STATUS.check, SENSE.unitAttention)
    }
    const block = Number(cdb.readBigUInt64BE(2))
    const bytes = cdb.readUInt32BE(10) * BLOCK_BYTES
    if (cdb[0] === 0x9e) return this.#give(header, capacityOf(disk))
    if (cdb[0] === 0x5e) return this.#give(header, keysOf(target.registered.has(lun)))
    if (cdb[0] === 0x88)
      return this.#give(header, disk.subarray(block * BLOCK_BYTES, block * BLOCK_BYTES + bytes))
    const compares = cdb[0] === 0x89 && this.#world.options.compares === true
    if (cdb[0] === 0x8a || compares) {
      const length = compares ? 2 * BLOCK_BYTES : bytes
      this.#write = { lun, block, compares, data: Buffer.alloc(length) }
      data.copy(this.#write.data)
      return this.#goOn(header, data.length)
    }
    if (cdb[0] === 0x16) reserved.set(lun, this.#socket)
    else if (cdb[0] === 0x17) reserved.delete(lun)
    else return this.#respond(header, STATUS.check, SENSE.illegalRequest)
    this.#respond(header, STATUS.good)
  }

  /** Asks for the rest of a write, after a ping, or does it. */
  #goOn(header: Buffer, have: number): void {
    const { lun, block, compares, data } = this.#write!
    if (have >= data.length) {
      const disk = this.#world.target.luns.get(lun)!
      const at = block * BLOCK_BYTES
      const expected = data.subarray(0, compares ? BLOCK_BYTES : 0)
      if (!disk.subarray(at, at + expected.length).equals(expected))
        return this.#respond(header, STATUS.check, SENSE.miscompare)
      data.copy(disk, at, expected.length)
      return this.#respond(header, STATUS.good)
    }
    const ping = newHeader(OPCODES.nopIn, FINAL)
    ping.writeUInt32BE(NO_TAG, 16)
    ping.writeUInt32BE(7, 20)
    this.#socket.write(encodePdu(ping))
    const ask = newHeader(OPCODES.readyToTransfer, FINAL)
    header.copy(ask, 16, 16, 20)
    ask.writeUInt32BE(1, 20)
    ask.writeUInt32BE(have, 40)
    ask.writeUInt32BE(data.length - have, 44)
    this.#socket.write(encodePdu(ask))
  }

  #receive({ header, data }: Pdu): void {
    data.copy(this.#write!.data, header.readUInt32BE(40))
    if ((header[1]! & FINAL) !== 0) this.#goOn(header, this.#write!.data.length)
  }

  #give(header: Buffer, data: Buffer): void {
    this.#send(this.#answerTo(header, OPCODES.dataIn, FINAL | HAS_STATUS), data)
  }

  #respond(header: Buffer, status: number, sense = 0): void {
    const answer = this.#answerTo(header, OPCODES.response, FINAL)
    answer.writeUInt8(status, 3)
    const said = Buffer.from([0, 18, 0x70, 0, sense, ...Array(15).fill(0)])
    this.#send(answer, sense === 0 ? undefined : said)
  }

  #answerTo(header: Buffer, opcode: number, flags: number): Buffer {
    const answer = newHeader(opcode, flags)
    header.copy(answer, 16, 16, 20)
    answer.writeUInt32BE(this.#answer, 24)
    this.#answer += 1
    return answer
  }

  #send(header: Buffer, data?: Buffer): void {
    this.#socket.write(encodePdu(header, data))
  }
}

function listOf(luns: readonly number[]): Buffer {
  const list = Buffer.alloc(8 + luns.length * 8)
  list.writeUInt32BE(luns.length * 8, 0)
  for (const [index, lun] of luns.entries()) list[8 + index * 8 + 1] = lun
  return list
}

function capacityOf(disk: Buffer): Buffer {
  const capacity = Buffer.alloc(32)
  capacity.writeBigUInt64BE(BigInt(disk.length / BLOCK_BYTES - 1), 0)
  capacity.writeUInt32BE(BLOCK_BYTES, 8)
  return capacity
}

function keysOf(isRegistered: boolean): Buffer {
  const keys = Buffer.alloc(16)
  keys.writeUInt32BE(isRegistered ? 8 : 0, 4)
  return keys
}

/** What the target says to the keys of a login; without `said` it ends the login. */
function loginAnswer(
  keys: ReadonlyMap<string, string>,
  { name, chap }: MemoryTargetOptions,
  challenge: Buffer,
): { readonly said?: Readonly<Record<string, string>>; readonly status: number } {
  const target = keys.get('TargetName')
  if (target !== undefined && target !== name) return { status: 0x0203 }
  const method = chap === undefined ? 'None' : 'CHAP'
  if (keys.has('AuthMethod'))
    return keys.get('AuthMethod') === method
      ? { said: { AuthMethod: method, TargetPortalGroupTag: '1' }, status: 0 }
      : { status: 0x0201 }
  if (keys.has('CHAP_A'))
    return {
      said: { CHAP_A: '5', CHAP_I: '9', CHAP_C: `0x${challenge.toString('hex')}` },
      status: 0,
    }
  if (keys.has('CHAP_R')) {
    const digest = createHash('md5')
      .update(Buffer.from([9]))
      .update(chap!.password)
      .update(challenge)
    const isRight = keys.get('CHAP_R') === `0x${digest.digest('hex')}`
    return isRight && keys.get('CHAP_N') === chap!.user
      ? { said: {}, status: 0 }
      : { status: 0x0201 }
  }
  const said = { ImmediateData: 'Yes', MaxRecvDataSegmentLength: '512' }
  return { said: { ...said, FirstBurstLength: String(FIRST_BYTES) }, status: 0 }
}
