import type { DomainRef, NetworkRef, PoolRef } from './refs.ts'

/** remote_protocol.x REMOTE_DOMAIN_LIST_MAX: no list in an answer is longer. */
const ITEMS_MAX = 16_384

/** Reads an answer in XDR. Every length is checked against what was received, so a bad peer only gets an error. */
export class XdrReader {
  readonly #bytes: Buffer
  #offset = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  uint(): number {
    return this.#take(4).readUInt32BE(0)
  }

  int(): number {
    return this.#take(4).readInt32BE(0)
  }

  /** An unsigned hyper. Counts in libvirt's answers stay far below 2^53; one above is a bad answer. */
  ulong(): number {
    const value = this.#take(8).readBigUInt64BE(0)
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError('number too large in answer')
    return Number(value)
  }

  /** The same as the nearest number: nanoseconds of many CPUs pass 2^53 within days. */
  roundedUlong(): number {
    return Number(this.#take(8).readBigUInt64BE(0))
  }

  fixed(length: number): Buffer {
    const bytes = this.#take(length)
    this.#take((4 - (length % 4)) % 4)
    return bytes
  }

  text(): string {
    return this.fixed(this.uint()).toString('utf8')
  }

  optionalText(): string | null {
    return this.uint() === 0 ? null : this.text()
  }

  domain(): DomainRef {
    return { name: this.text(), uuid: Buffer.from(this.fixed(16)), id: this.int() }
  }

  network(): NetworkRef {
    return { name: this.text(), uuid: Buffer.from(this.fixed(16)) }
  }

  pool(): PoolRef {
    return { name: this.text(), uuid: Buffer.from(this.fixed(16)) }
  }

  list<T>(item: (reader: this) => T): T[] {
    const count = this.uint()
    if (count > ITEMS_MAX) throw new RangeError(`${count} items in one answer`)
    return Array.from({ length: count }, () => item(this))
  }

  /** Typed parameters by name: numbers, and texts; a number above 2^53 is rounded. */
  parameters(): ReadonlyMap<string, number | string> {
    return new Map(this.list((reader) => [reader.text(), reader.#parameter()] as const))
  }

  /** Its encoding depends on its virTypedParameterType. */
  #parameter(): number | string {
    const type = this.int()
    switch (type) {
      case 1:
      case 6:
        return this.int()
      case 2:
        return this.uint()
      case 3:
        return Number(this.#take(8).readBigInt64BE(0))
      case 4:
        return Number(this.#take(8).readBigUInt64BE(0))
      case 5:
        return this.#take(8).readDoubleBE(0)
      case 7:
        return this.text()
      default:
        throw new RangeError(`parameter of type ${type} in answer`)
    }
  }

  #take(length: number): Buffer {
    const end = this.#offset + length
    if (end > this.#bytes.length) throw new RangeError('answer is shorter than it says')
    const bytes = this.#bytes.subarray(this.#offset, end)
    this.#offset = end
    return bytes
  }
}
