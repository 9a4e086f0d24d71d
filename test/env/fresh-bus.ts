import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAccount } from '@nats-io/nkeys'
import type { NatsConnection } from '@nats-io/transport-node'
import { connectSystem } from '#deploy/nats/connect-system.ts'
import {
  computePermissions,
  gatewayAccount,
  SERVER_SIDE_PERMISSIONS,
} from '#gateway/bus/accounts.ts'
import { admitCell } from '#gateway/bus/admit-cell.ts'
import { createCellAccount, type OwnedCellAccount } from '#gateway/bus/create-cell-account.ts'
import { dismissCell } from '#gateway/bus/dismiss-cell.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { type BusOperator, pushAccount } from '#gateway/bus/push-account.ts'
import { type TestServices, testServices } from './services.ts'

/**
 * A bus of its own on the run's NATS: a gateways' account that reaches only the cells added here, so test files
 * may use the same cell ids at once. Credentials come as paths of credentials files, as programs take them.
 */
export class FreshBus implements AsyncDisposable {
  readonly url: string
  readonly #services: TestServices
  readonly #operator: BusOperator
  readonly #gatewayKey: string
  readonly #gatewaySeed: string
  #cells: readonly OwnedCellAccount[] = []

  constructor(services: TestServices, system: NatsConnection) {
    const gateway = createAccount()
    this.url = services.natsUrl
    this.#services = services
    this.#operator = { system, operatorSeed: services.natsKeys.operatorSeed }
    this.#gatewayKey = gateway.getPublicKey()
    this.#gatewaySeed = new TextDecoder().decode(gateway.getSeed())
  }

  /** Afterwards the gateways' account exists; it reaches no cell yet. */
  async open(): Promise<void> {
    await pushAccount(this.#operator, 'gateway', this.#gatewayKey, gatewayAccount([]))
  }

  async addCell(cellId: string): Promise<void> {
    const cell = await createCellAccount(cellId, this.#gatewayKey)
    const cells = [...this.#cells, cell]
    await admitCell(this.#operator, this.#gatewayKey, cellId, cells)
    this.#cells = cells
  }

  async removeCell(cellId: string): Promise<void> {
    const remaining = this.#cells.filter((cell) => cell.cellId !== cellId)
    await dismissCell(this.#operator, this.#gatewayKey, this.#account(cellId), remaining)
    this.#cells = remaining
  }

  gatewayCredentialsFile(): Promise<string> {
    return this.#issue('gateway', this.#gatewaySeed, SERVER_SIDE_PERMISSIONS)
  }

  cellCredentialsFile(cellId: string): Promise<string> {
    return this.#issue(`cell-${cellId}`, this.#account(cellId).seed, SERVER_SIDE_PERMISSIONS)
  }

  computeCredentialsFile(cellId: string, hostId: string): Promise<string> {
    const permissions = computePermissions(cellId, hostId)
    return this.#issue(`host-${hostId}`, this.#account(cellId).seed, permissions)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#operator.system.close()
  }

  #account(cellId: string): OwnedCellAccount {
    const cell = this.#cells.find((each) => each.cellId === cellId)
    if (cell === undefined) throw new Error(`Cell ${cellId} was not added to this bus`)
    return cell
  }

  async #issue(
    name: string,
    seed: string,
    permissions: Parameters<typeof issueCredentials>[2],
  ): Promise<string> {
    const file = join(this.#services.directory, `${name}-${randomUUID()}.creds`)
    writeFileSync(file, await issueCredentials(name, seed, permissions), { mode: 0o600 })
    return file
  }
}

/**
 * A bus for one test file, with these cells, on the run's NATS unless told otherwise. Dispose it (`await using`, or in
 * `afterAll`).
 */
export async function freshBus(
  cellIds: readonly string[] = [],
  on?: TestServices,
): Promise<FreshBus> {
  const services = on ?? (await testServices())
  const bus = new FreshBus(
    services,
    await connectSystem(services.natsUrl, services.natsKeys.systemSeed),
  )
  await bus.open()
  for (const cellId of cellIds) await bus.addCell(cellId)
  return bus
}
