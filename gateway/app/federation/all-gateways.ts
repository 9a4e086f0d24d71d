import type { NatsConnection } from '@nats-io/transport-node'
import { errorFields, type Logger } from '#common/log.ts'
import { checked } from '#openapi/wire/checked.ts'
import { GatewayHealth, type HealthCheck } from '#openapi/wire/health.ts'
import { healthSubject } from '#openapi/wire.ts'
import type { KnownPeer } from '../peers.ts'

/** Longer than one takes that waits for a database that does not answer. */
const ANSWERS_LIMIT_MS = 5_000

export interface AllGatewaysOptions {
  readonly nats: NatsConnection
  readonly log: Logger
  /** What this gateway finds of itself. */
  readonly own: () => Promise<GatewayHealth>
  readonly peers: () => readonly KnownPeer[]
}

/** What all gateways find of themselves: each answers the others over the bus. */
export class AllGateways implements Disposable {
  readonly #options: AllGatewaysOptions
  readonly #stop: () => void

  constructor(options: AllGatewaysOptions) {
    this.#options = options
    const { nats, log, own } = options
    const subscription = nats.subscribe(healthSubject(), {
      callback: (error, message) => {
        if (error !== null) return
        own().then(
          (health) => message.respond(JSON.stringify(health)),
          (failure: unknown) => log.warn(errorFields(failure), 'health not told'),
        )
      },
    })
    this.#stop = () => {
      if (!nats.isClosed()) subscription.unsubscribe()
    }
  }

  [Symbol.dispose](): void {
    this.#stop()
  }

  /** Of this gateway and of every other on the bus; one that does not answer, or has left a while ago, has a check that says so. */
  async health(): Promise<readonly GatewayHealth[]> {
    const { own, peers } = this.#options
    const known = peers()
    const present = known.filter(({ leftMs }) => leftMs === undefined)
    const [here, answers] = await Promise.all([own(), this.#others(present.length)])
    const others = answers.filter(({ gateway }) => gateway !== here.gateway)
    const names = new Set(others.map(({ gateway }) => gateway))
    const silent = known.filter(({ name }) => !names.has(name)).map(absent)
    return [here, ...others, ...silent]
  }

  async #others(expected: number): Promise<readonly GatewayHealth[]> {
    const { nats, log } = this.#options
    if (expected === 0 || nats.isClosed()) return []
    const answers: GatewayHealth[] = []
    try {
      const asked = await nats.requestMany(healthSubject(), '', {
        strategy: 'count',
        // It answers itself, too.
        maxMessages: expected + 1,
        maxWait: ANSWERS_LIMIT_MS,
      })
      for await (const answer of asked)
        answers.push(checked(GatewayHealth, answer.json(), 'health of a gateway'))
    } catch (error) {
      log.warn(errorFields(error), 'health of other gateways not known')
    }
    return answers
  }
}

function absent({ name, leftMs }: KnownPeer): GatewayHealth {
  const reason =
    leftMs === undefined
      ? 'does not answer over the bus'
      : `left the bus ${Math.round(leftMs / 1_000)} s ago`
  const check: HealthCheck = { kind: 'gateway', name, status: 'failed', reason }
  return { gateway: name, release: '', checks: [check] }
}
