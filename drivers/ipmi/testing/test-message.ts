export interface TestCommand {
  readonly number: number
  readonly netFunction: number
  readonly code: number
  readonly data: Buffer
}

export function readCommand(message: Buffer): TestCommand {
  return {
    number: message.readUInt8(4) >> 2,
    netFunction: message.readUInt8(1) >> 2,
    code: message.readUInt8(5),
    data: message.subarray(6, -1),
  }
}

/** An answer as a BMC sends it. */
export function checksummed(
  { number, netFunction, code }: TestCommand,
  answer: readonly number[],
): Buffer {
  const head = [0x81, (netFunction + 1) << 2]
  const body = [0x20, number << 2, code, ...answer]
  return Buffer.from([...head, checksum(head), ...body, checksum(body)])
}

function checksum(bytes: readonly number[]): number {
  return -bytes.reduce((total, byte) => total + byte, 0) & 0xff
}
