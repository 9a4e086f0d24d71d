import type { NatsConnection } from '@nats-io/transport-node'
import { connectBus } from '#common/bus/connect.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { cellFeedSubject } from '#gateway/bus/accounts.ts'
import type { FreshBus } from './fresh-bus.ts'

const LIMIT_MS = 30_000

/** Asks a bus whether it brings gateways what a cell publishes, while it exchanges their account (`repeatSlowly`). */
export class DeliveryProbe implements AsyncDisposable {
  readonly #cellId: string
  readonly #cell: NatsConnection
  readonly #gateway: NatsConnection

  private constructor(cellId: string, cell: NatsConnection, gateway: NatsConnection) {
    this.#cellId = cellId
    this.#cell = cell
    this.#gateway = gateway
  }

  static async open(bus: FreshBus, cellId: string): Promise<DeliveryProbe> {
    const open = (credentialsFile: string) =>
      connectBus({ url: bus.url, credentialsFile, name: 'probe' }, createLogger('test', 'error'))
    const cell = await open(await bus.cellCredentialsFile(cellId))
    return new DeliveryProbe(cellId, cell, await open(await bus.gatewayCredentialsFile()))
  }

  /** Resolves once the bus brings nothing to a subscription that a gateway makes at that moment. */
  async untilDeaf(): Promise<void> {
    await waitFor('the bus to begin', async () => !(await this.#isDelivered()), LIMIT_MS)
  }

  /** Resolves once it brings everything to such a subscription. */
  async untilHearing(): Promise<void> {
    await waitFor('the bus to end', () => this.#isDelivered(), LIMIT_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#cell.close(), this.#gateway.close()])
  }

  async #isDelivered(): Promise<boolean> {
    let isDelivered = false
    const subject = cellFeedSubject(this.#cellId).replace('>', 'probe')
    const subscription = this.#gateway.subscribe(subject, {
      callback: () => void (isDelivered = true),
    })
    await this.#gateway.flush()
    this.#cell.publish(subject)
    await this.#cell.flush()
    await this.#gateway.flush()
    subscription.unsubscribe()
    return isDelivered
  }
}
