import type { Server, ServerResponse } from 'node:http'
import type { Clock } from '#common/clock.ts'
import type { ReachWatch } from '../app/reach.ts'

/** A proxy that has not looked for this time is none, or is gone. */
const LOOKED_WITHIN_MS = 5_000
/** Proxies look every second or oftener. */
const NOTICE_MS = 1_000
/** What requests in progress get until no more connections are taken. */
const FINISH_MS = 2_000

/**
 * Whether proxies are to send this gateway new requests. One that stops first leaves the rotation: a proxy cuts off the
 * requests that it has sent to a gateway that refuses its connections, also those that are being answered.
 */
export class Rotation {
  readonly #reach: Pick<ReachWatch, 'missing'>
  readonly #clock: Clock
  readonly #requests = new Set<ServerResponse>()
  #lookedAt = Number.NEGATIVE_INFINITY
  #isLeaving = false

  constructor(reach: Pick<ReachWatch, 'missing'>, clock: Clock) {
    this.#reach = reach
    this.#clock = clock
  }

  /** Answers a proxy: why it is to send no new requests; undefined: it may. */
  look(): string | undefined {
    this.#lookedAt = this.#clock.elapsed()
    if (this.#isLeaving) return 'the gateway stops'
    const { missing } = this.#reach
    return missing === undefined ? undefined : `the ${missing} is not reached`
  }

  /** From now on `finish` waits for the server's requests. */
  watch(server: Server): void {
    server.on('request', (_, response: ServerResponse) => {
      this.#requests.add(response)
      response.once('close', () => this.#requests.delete(response))
    })
  }

  /** Afterwards every proxy that looks has been told to send nothing more. Where none looks, this does not wait. */
  async leave(): Promise<void> {
    if (this.#clock.elapsed() - this.#lookedAt > LOOKED_WITHIN_MS) return
    this.#isLeaving = true
    await this.#clock.sleep(NOTICE_MS)
  }

  /** Resolves once the requests in progress have ended, or after some seconds; at once unless a proxy was told. */
  async finish(): Promise<void> {
    if (!this.#isLeaving) return
    const until = this.#clock.elapsed() + FINISH_MS
    while (this.#requests.size > 0 && this.#clock.elapsed() < until) await this.#clock.sleep(20)
  }
}
