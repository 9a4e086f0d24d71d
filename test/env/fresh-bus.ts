import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAccount } from '@nats-io/nkeys'
import type { NatsConnection } from '@nats-io/transport-node'
import { connectBus } from '#common/bus/connect.ts'
import { createLogger } from '#common/log.ts'
import { AccountPublisher, type KeptAccount } from '#gateway/bus/account-keeper.ts'
import {
  computePermissions,
  gatewayAccount,
  OPERATOR_PERMISSIONS,
  SERVER_SIDE_PERMISSIONS,
} from '#gateway/bus/accounts.ts'
import { createCellAccount, type OwnedCellAccount } from '#gateway/bus/create-cell-account.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { pushAccount } from '#gateway/bus/push-account.ts'
import { type TestServices, testServices } from './services.ts'

/** The NATS it is on. */
type BusServices = Pick<TestServices, 'directory' | 'natsUrl' | 'natsKeys'>

/**
 * A bus of its own on the run's NATS: a gateways' account that reaches only the cells added here, so test files
 * may use the same cell ids at once. Credentials come as paths of credentials files, as programs take them.
 */
export class FreshBus implements AsyncDisposable {
  readonly url: string
  readonly #services: BusServices
  readonly #system: NatsConnection
  readonly #gatewayKey: string
  readonly #gatewaySeed: string
  readonly #keeper: AccountPublisher
  #accounts: readonly (OwnedCellAccount & KeptAccount)[] = []

  constructor(services: BusServices, system: NatsConnection) {
    const gateway = createAccount()
    this.url = services.natsUrl
    this.#services = services
    this.#system = system
    this.#gatewayKey = gateway.getPublicKey()
    this.#gatewaySeed = new TextDecoder().decode(gateway.getSeed())
    this.#keeper = new AccountPublisher(
      { system, operatorSeed: services.natsKeys.operatorSeed },
      this.#gatewayKey,
      async () => this.#accounts,
    )
  }

  /** Afterwards the gateways' account exists; it reaches no cell yet. */
  async open(): Promise<void> {
    await this.#keeper.keep()
  }

  async addCell(cellId: string): Promise<void> {
    const account = await createCellAccount(cellId, this.#gatewayKey)
    this.#accounts = [...this.#accounts, { ...account, revokedAt: null, shutOut: [] }]
    await this.#keeper.keep()
  }

  async removeCell(cellId: string): Promise<void> {
    this.#accounts = this.#accounts.map((account) =>
      account.cellId === cellId ? { ...account, revokedAt: new Date() } : account,
    )
    await this.#keeper.keep()
  }

  /**
   * The gateways' account is handed to the bus again as it is, but for an import from an account that is nowhere: while
   * the server looks for that, some two seconds, the account imports nothing, and no account of the server can be
   * changed: for a server of the test's own. Resolves before it has begun.
   */
  async repeatSlowly(): Promise<void> {
    const nowhere = await createCellAccount('nowhere', this.#gatewayKey)
    const { imports = [], ...rest } = gatewayAccount([nowhere, ...this.#accounts])
    const oneOfNowhere = { ...rest, imports: imports.slice(1) }
    const { operatorSeed } = this.#services.natsKeys
    const operator = { system: this.#system, operatorSeed }
    // Its answer may come too late, and does not matter here.
    void pushAccount(operator, 'gateway', this.#gatewayKey, oneOfNowhere).catch(() => {})
  }

  /** The settings with which a gateway creates accounts on this bus itself. */
  async operatorEnv(): Promise<Readonly<Record<string, string>>> {
    const { natsKeys } = this.#services
    return {
      GATEWAY_NATS_OPERATOR_SEED: natsKeys.operatorSeed,
      GATEWAY_NATS_SYSTEM_CREDENTIALS_FILE: await this.#issue(
        'operator',
        natsKeys.systemSeed,
        OPERATOR_PERMISSIONS,
      ),
    }
  }

  /** The account of a cell that was added here. */
  account(cellId: string): OwnedCellAccount {
    const account = this.#accounts.find((each) => each.cellId === cellId)
    if (account === undefined) throw new Error(`Cell ${cellId} was not added to this bus`)
    return account
  }

  gatewayCredentialsFile(): Promise<string> {
    return this.#issue('gateway', this.#gatewaySeed, SERVER_SIDE_PERMISSIONS)
  }

  cellCredentialsFile(cellId: string): Promise<string> {
    return this.#issue(`cell-${cellId}`, this.account(cellId).seed, SERVER_SIDE_PERMISSIONS)
  }

  computeCredentialsFile(cellId: string, hostId: string): Promise<string> {
    const permissions = computePermissions(cellId, hostId)
    return this.#issue(`host-${hostId}`, this.account(cellId).seed, permissions)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#system.close()
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

/** A connection of the system account, which is made again when the server of a loaded machine ends it. */
async function connectAsSystem({ directory, natsUrl, natsKeys }: BusServices) {
  const credentialsFile = join(directory, `system-${randomUUID()}.creds`)
  writeFileSync(credentialsFile, await issueCredentials('test', natsKeys.systemSeed, {}), {
    mode: 0o600,
  })
  return connectBus({ url: natsUrl, credentialsFile, name: 'test' }, createLogger('test', 'silent'))
}

/** A bus for one test file, with these cells, on the run's NATS by default. Dispose it (`await using`, or in `afterAll`). */
export async function freshBus(
  cellIds: readonly string[] = [],
  on?: BusServices,
): Promise<FreshBus> {
  const services = on ?? (await testServices())
  const bus = new FreshBus(services, await connectAsSystem(services))
  await bus.open()
  for (const cellId of cellIds) await bus.addCell(cellId)
  return bus
}
