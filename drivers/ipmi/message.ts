const BMC_ADDRESS = 0x20
/** A program on a remote console, IPMI 2.0, table 5-4. */
const CONSOLE_ADDRESS = 0x81
const NUMBERS = 64
const ANSWER_BYTES_MIN = 8

/** The functions of a BMC that are used here, by IPMI's number of their group. */
export const NET_FUNCTIONS = { chassis: 0x00, sensor: 0x04, app: 0x06, storage: 0x0a } as const

export interface Command {
  readonly netFunction: number
  readonly code: number
  readonly data?: Uint8Array
  /** Of a BMC's sub-devices; 0 is the BMC itself. */
  readonly lun?: number
}

export interface Answer {
  readonly number: number
  readonly code: number
  /** 0: done. */
  readonly completion: number
  readonly data: Buffer
}

/** A command as the content of a packet; its answer carries the same number, of which there are 64. */
export function commandMessage(number: number, command: Command): Buffer {
  const { netFunction, code, data = Buffer.alloc(0), lun = 0 } = command
  const head = Buffer.from([BMC_ADDRESS, (netFunction << 2) | lun])
  const body = Buffer.from([CONSOLE_ADDRESS, (number % NUMBERS) << 2, code, ...data])
  return Buffer.concat([head, checksum(head), body, checksum(body)])
}

/** Undefined for anything that is not an answer, whole and unharmed. */
export function answerOf(message: Buffer): Answer | undefined {
  if (message.length < ANSWER_BYTES_MIN) return undefined
  const body = message.subarray(3)
  if (sum(message.subarray(0, 3)) !== 0 || sum(body) !== 0) return undefined
  return {
    number: message.readUInt8(4) >> 2,
    code: message.readUInt8(5),
    completion: message.readUInt8(6),
    data: message.subarray(7, -1),
  }
}

function checksum(bytes: Uint8Array): Buffer {
  return Buffer.from([-sum(bytes) & 0xff])
}

function sum(bytes: Uint8Array): number {
  return bytes.reduce((total, byte) => (total + byte) & 0xff, 0)
}
