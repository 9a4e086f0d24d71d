import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '#common/errors.ts'
import { IscsiConnection } from './iscsi-connection.ts'
import { type Agreed, type IscsiLogin, logIn } from './iscsi-login.ts'
import { FINAL, IMMEDIATE, NO_TAG, newHeader, OPCODES, type Pdu } from './pdu.ts'

const FLAGS = { read: 0x40, write: 0x20, simple: 0x01 } as const
/** In a unit with data: the status of the command comes with it. */
const HAS_STATUS = 0x01
/** SCSI's statuses (SAM-5). */
const STATUS = { good: 0x00, check: 0x02, busy: 0x08, reserved: 0x18, taskSetFull: 0x28 } as const
const MAY_PASS: readonly number[] = [STATUS.busy, STATUS.reserved, STATUS.taskSetFull]
/** SCSI's sense keys (SPC-4). */
export const SENSE = { illegalRequest: 0x05, unitAttention: 0x06, miscompare: 0x0e } as const
/** A LUN says that it was reset, is busy, or is another's for a moment, and then does what it is asked for. */
const TRIES_MAX = 10
const BUSY_MS = 100

export interface ScsiCommand {
  readonly lun: number
  /** Up to 16 bytes. */
  readonly cdb: Buffer
  /** What goes to the LUN; absent: nothing. */
  readonly out?: Buffer
  /** The most bytes that come back; absent: none. */
  readonly inBytes?: number
  /** True: it fails where another initiator has reserved the LUN; absent: it waits for a while. */
  readonly isImpatient?: true
}

/** A command that a LUN has refused. */
export class ScsiError extends Failure {
  readonly isReserved: boolean
  readonly sense: number
  constructor({ lun, cdb }: ScsiCommand, status: number, sense: number, code: number) {
    const hex = (value: number) => `0x${value.toString(16).padStart(2, '0')}`
    const why = `status ${hex(status)}, sense key ${hex(sense)}, code ${hex(code)}`
    super('internal', 'The iSCSI target refused a command.', {
      detail: `LUN ${lun}, command ${hex(cdb[0]!)}: ${why}`,
    })
    this.isReserved = status === STATUS.reserved
    this.sense = sense
  }
}

interface Outcome {
  readonly status: number
  readonly sense: Buffer
  readonly data: Buffer
}

/** A session with a target. One command is under way at a time. */
export class IscsiSession implements Disposable {
  readonly #connection: IscsiConnection
  readonly #agreed: Agreed
  #tag = 0

  private constructor(connection: IscsiConnection, agreed: Agreed) {
    this.#connection = connection
    this.#agreed = agreed
  }

  /** Throws `unavailable` where the target does not answer, and `forbidden` where it refuses this host. */
  static async open(login: IscsiLogin, signal: AbortSignal): Promise<IscsiSession> {
    const connection = IscsiConnection.open(login.portal, signal)
    try {
      return new IscsiSession(connection, await logIn(connection, login))
    } catch (error) {
      connection[Symbol.dispose]()
      throw error
    }
  }

  /** What the LUN gives back. Throws `ScsiError` for a command that it refuses. */
  async do(command: ScsiCommand): Promise<Buffer> {
    for (let tries = 1; ; tries += 1) {
      const { status, sense, data } = await this.#once(command)
      if (status === STATUS.good) return data
      const [key, code] = senseOf(sense)
      const isBusy =
        MAY_PASS.includes(status) && !(command.isImpatient === true && status === STATUS.reserved)
      const mayPass = isBusy || (status === STATUS.check && key === SENSE.unitAttention)
      if (!mayPass || tries === TRIES_MAX) throw new ScsiError(command, status, key, code)
      if (isBusy) await sleep(BUSY_MS)
    }
  }

  /** Tells the target that the session ends, and does not wait for what it says to that. */
  [Symbol.dispose](): void {
    try {
      const header = newHeader(OPCODES.logout | IMMEDIATE, FINAL)
      header.writeUInt32BE(this.#tag, 16)
      header.writeUInt32BE(this.#connection.commandNumber, 24)
      this.#connection.send(header)
    } catch {
      // It is gone already.
    }
    this.#connection[Symbol.dispose]()
  }

  async #once(command: ScsiCommand): Promise<Outcome> {
    const { out, inBytes = 0 } = command
    this.#tag += 1
    this.#sendCommand(command)
    const data = Buffer.alloc(inBytes)
    let end = 0
    for (;;) {
      const pdu = await this.#connection.receive()
      const { opcode, header } = pdu
      if (header.readUInt32BE(16) !== this.#tag) throw strange(pdu)
      if (opcode === OPCODES.readyToTransfer) {
        this.#sendData(header, out ?? Buffer.alloc(0))
      } else if (opcode === OPCODES.dataIn) {
        const at = header.readUInt32BE(40)
        pdu.data.copy(data, at)
        end = Math.max(end, Math.min(at + pdu.data.length, inBytes))
        if ((header[1]! & HAS_STATUS) === 0) continue
        this.#connection.answerNumber = header.readUInt32BE(24) + 1
        return { status: header[3]!, sense: Buffer.alloc(0), data: data.subarray(0, end) }
      } else if (opcode === OPCODES.response) {
        this.#connection.answerNumber = header.readUInt32BE(24) + 1
        // Other than by its status a command fails only where the target itself does.
        if (header[2] !== 0) throw strange(pdu)
        return { status: header[3]!, sense: pdu.data.subarray(2), data: data.subarray(0, end) }
      } else throw strange(pdu)
    }
  }

  #sendCommand({ lun, cdb, out, inBytes = 0 }: ScsiCommand): void {
    const { immediateData, unitBytes, firstBytes } = this.#agreed
    const direction = out === undefined ? FLAGS.read : FLAGS.write
    const header = newHeader(OPCODES.command, FINAL | direction | FLAGS.simple)
    encodeLun(lun).copy(header, 8)
    header.writeUInt32BE(this.#tag, 16)
    header.writeUInt32BE(out?.length ?? inBytes, 20)
    header.writeUInt32BE(this.#connection.commandNumber, 24)
    cdb.copy(header, 32)
    this.#connection.commandNumber += 1
    const immediate = immediateData ? out?.subarray(0, Math.min(unitBytes, firstBytes)) : undefined
    this.#connection.send(header, immediate)
  }

  /** The part of the data for which the target has asked. */
  #sendData(asked: Buffer, out: Buffer): void {
    const [offset, length] = [asked.readUInt32BE(40), asked.readUInt32BE(44)]
    const end = Math.min(offset + length, out.length)
    let number = 0
    for (let at = offset; at < end; at += this.#agreed.unitBytes) {
      const part = out.subarray(at, Math.min(at + this.#agreed.unitBytes, end))
      const header = newHeader(OPCODES.dataOut, at + part.length === end ? FINAL : 0)
      asked.copy(header, 8, 8, 16)
      header.writeUInt32BE(this.#tag, 16)
      asked.copy(header, 20, 20, 24)
      header.writeUInt32BE(number, 36)
      header.writeUInt32BE(at, 40)
      this.#connection.send(header, part)
      number += 1
    }
  }
}

/** A LUN's number on the wire (SAM-5): the short form, or the flat one. */
function encodeLun(lun: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16BE(lun < 256 ? lun : 0x4000 | lun)
  return bytes
}

/** The sense key, and its additional code, in either of their two formats. */
function senseOf(sense: Buffer): readonly [number, number] {
  const isDescribed = ((sense[0] ?? 0) & 0x7f) >= 0x72
  const key = (isDescribed ? sense[1] : sense[2]) ?? 0
  return [key & 0x0f, (isDescribed ? sense[2] : sense[12]) ?? 0]
}

function strange({ opcode, header }: Pdu): Failure {
  const tag = header.readUInt32BE(16)
  return new Failure('unavailable', 'The iSCSI target answered with what was not asked for.', {
    detail: `unit 0x${opcode.toString(16)}, tag ${tag === NO_TAG ? 'none' : tag}`,
  })
}
