import type { DomainRef, NetworkRef, PoolRef } from './refs.ts'

/** virTypedParameterType. */
const TYPE_TEXT = 7
const PADDING = [0, 3, 2, 1] as const

/** Builds the arguments of one call in XDR (RFC 4506): big-endian, everything padded to four bytes. */
export class XdrWriter {
  readonly #parts: Buffer[] = []

  uint(value: number): this {
    const part = Buffer.alloc(4)
    part.writeUInt32BE(value >>> 0)
    this.#parts.push(part)
    return this
  }

  int(value: number): this {
    const part = Buffer.alloc(4)
    part.writeInt32BE(value)
    this.#parts.push(part)
    return this
  }

  /** An unsigned hyper, of at most 2^53. */
  ulong(value: number): this {
    const part = Buffer.alloc(8)
    part.writeBigUInt64BE(BigInt(value))
    this.#parts.push(part)
    return this
  }

  text(value: string): this {
    const bytes = Buffer.from(value, 'utf8')
    this.uint(bytes.length)
    this.#parts.push(bytes, Buffer.alloc(PADDING[(bytes.length % 4) as 0 | 1 | 2 | 3]))
    return this
  }

  optionalText(value: string | null): this {
    return value === null ? this.uint(0) : this.uint(1).text(value)
  }

  /** Sixteen bytes as they are: XDR opaque of fixed length, which needs no padding. */
  uuid(bytes: Uint8Array): this {
    this.#parts.push(Buffer.from(bytes))
    return this
  }

  domain(domain: DomainRef): this {
    return this.text(domain.name).uuid(domain.uuid).int(domain.id)
  }

  network(network: NetworkRef): this {
    return this.text(network.name).uuid(network.uuid)
  }

  pool(pool: PoolRef): this {
    return this.text(pool.name).uuid(pool.uuid)
  }

  /** Typed parameters, all of them texts. */
  textParameters(parameters: Readonly<Record<string, string | readonly string[]>>): this {
    const entries = Object.entries(parameters).flatMap(([name, values]) =>
      [values].flat().map((value) => [name, value] as const),
    )
    this.uint(entries.length)
    for (const [name, value] of entries) this.text(name).int(TYPE_TEXT).text(value)
    return this
  }

  bytes(): Buffer {
    return Buffer.concat(this.#parts)
  }
}
