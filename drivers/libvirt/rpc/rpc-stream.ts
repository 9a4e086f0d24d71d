import { Duplex } from 'node:stream'

/** The part of a connection that a stream uses. */
export interface StreamCarrier {
  /** `sent` is called once the connection takes more. */
  send(bytes: Buffer, sent: (error?: Error | null) => void): void
  /** Whether the connection is to be read from. */
  flow(isWanted: boolean): void
  hangUp(): void
}

/** The bytes of one of libvirt's streams (docs/kbase/internals/rpc.rst). It has its connection to itself. */
export class RpcStream extends Duplex {
  readonly #carrier: StreamCarrier

  constructor(carrier: StreamCarrier) {
    super()
    this.#carrier = carrier
  }

  /** Bytes from the daemon; none: there will be no more. */
  receive(bytes: Buffer): void {
    const wantsMore = this.push(bytes.length === 0 ? null : Buffer.from(bytes))
    this.#carrier.flow(wantsMore || bytes.length === 0)
  }

  /** The daemon has ended it or is gone; a guest that goes off ends it, too. */
  lost(): void {
    if (this.destroyed) return
    this.push(null)
    this.end()
  }

  override _read(): void {
    this.#carrier.flow(true)
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#carrier.send(chunk, done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#carrier.hangUp()
    done(error)
  }
}
