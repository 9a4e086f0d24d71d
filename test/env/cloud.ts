import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { Database } from '#common/db/database.ts'
import { errorChain } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { tokenId } from '#gateway/app/identity/identity.ts'
import { tokens } from '#gateway/db/schema/identity.ts'
import { type Account, ApiClient } from './api/client.ts'
import { type Catalog, makeCatalog } from './cloud/catalog.ts'
import { cellProgram } from './cloud/cell-program.ts'
import { CloudHost } from './cloud/cloud-host.ts'
import { CloudProcess } from './cloud/cloud-process.ts'
import {
  type AccountName,
  type CellPlan,
  type Foundation,
  layFoundation,
} from './cloud/foundation.ts'
import { gatewayProgram } from './cloud/gateway-program.ts'
import { hostProgram } from './cloud/host-program.ts'
import { hostsReported } from './cloud/hosts-reported.ts'
import type { CloudOptions } from './cloud/options.ts'
import type { Program } from './cloud/program.ts'

/** A cell of the cloud. */
export interface CloudCell extends CellPlan {
  readonly processes: readonly CloudProcess[]
  readonly computes: readonly CloudHost[]
}

const READY_LIMIT_MS = 30_000
const PORT_TRIES_MAX = 5

/**
 * A whole cloud on simulated hosts: gateways on loopback ports, cells of several processes, their computes, users, an
 * image, flavors and a network. Disposing it leaves nothing.
 */
export class Cloud implements AsyncDisposable {
  readonly foundation: Foundation
  readonly #options: CloudOptions
  readonly #owned = new AsyncDisposableStack()
  readonly #clients = new Map<string, ApiClient>()
  #gateways: readonly CloudProcess[] = []
  #endpoints: readonly string[] = []
  #cells: readonly CloudCell[] = []
  readonly #forgotten = new Set<number>()
  #catalog: Catalog | undefined

  constructor(foundation: Foundation, options: CloudOptions) {
    this.foundation = foundation
    this.#options = options
    this.#owned.use(foundation.bus)
  }

  get gateways(): readonly CloudProcess[] {
    return this.#gateways
  }

  /** Clients ask this gateway, by its place, no more: it is down. */
  forget(gateway: number): void {
    this.#forgotten.add(gateway)
  }

  /** Clients ask this gateway, by its place, again: it is up. */
  remember(gateway: number): void {
    this.#forgotten.delete(gateway)
  }

  /** `http://127.0.0.1:<port>` of each gateway. */
  get endpoints(): readonly string[] {
    return this.#endpoints
  }

  get cells(): readonly CloudCell[] {
    return this.#cells
  }

  get hosts(): readonly CloudHost[] {
    return this.#cells.flatMap(({ computes }) => computes)
  }

  /** Ids of what the demo has. */
  get catalog(): Catalog {
    if (this.#catalog === undefined) throw new Error('The cloud has not started')
    return this.#catalog
  }

  cell(name: string): CloudCell {
    const cell = this.#cells.find((each) => each.name === name)
    if (cell === undefined) throw new Error(`There is no cell ${name}`)
    return cell
  }

  /** One client per account, logged in once. It asks each gateway in turn. */
  as(who: AccountName | Account): ApiClient {
    const account = typeof who === 'string' ? this.foundation.accounts[who] : who
    const key = `${account.user} ${account.project}`
    const known = this.#clients.get(key)
    if (known !== undefined) return known
    const client = this.#owned.use(new ApiClient(account, () => this.#known()))
    this.#clients.set(key, client)
    return client
  }

  /** A new token of this account, which no other test uses. */
  async login(who: AccountName): Promise<string> {
    await using client = new ApiClient(this.foundation.accounts[who], () => this.#known())
    return await client.token()
  }

  /** The metrics of the first gateway, as text; `of` = '/federation': those of the whole cloud. */
  async metrics(of: '' | '/federation' = ''): Promise<string> {
    const headers = { 'x-auth-token': await this.as('admin').token() }
    return (await fetch(`${this.endpoints[0]}/metrics${of}`, { headers })).text()
  }

  /** Afterwards the token's time is up. */
  async expireToken(token: string): Promise<void> {
    await using db = new Database({ url: this.foundation.databaseUrl, connectionsMax: 1 })
    await db.orm
      .update(tokens)
      .set({ expiresAt: new Date(0) })
      .where(eq(tokens.id, tokenId(token)))
  }

  async projectId(name: string): Promise<string> {
    const { body } = await this.as('admin').get<{ projects: readonly [{ id: string }] }>(
      `/identity/v3/projects?name=${name}`,
    )
    return body.projects[0].id
  }

  async start(): Promise<void> {
    await this.#startGateways()
    await this.#startCells()
    await this.waitUntilWhole()
    this.#catalog = await makeCatalog(this)
  }

  /** Resolves once every gateway knows every host of every cell as up. */
  async waitUntilWhole(limitMs = READY_LIMIT_MS): Promise<void> {
    await hostsReported(this.foundation, this.#cells, limitMs)
    const running = this.hosts.filter(({ process }) => process.isRunning)
    await this.#waitForHostsUp(running.length, limitMs)
  }

  /** Resolves once every gateway knows that it hears from no cell. */
  async waitUntilUnreachable(): Promise<void> {
    await this.#waitForHostsUp(0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync()
  }

  /** Of all gateways. */
  #imageUrl(): string {
    return this.#endpoints.map((endpoint) => `${endpoint}/image`).join(',')
  }

  #known(): readonly string[] {
    return this.#endpoints.filter((_, place) => !this.#forgotten.has(place))
  }

  async #waitForHostsUp(hosts: number, limitMs = READY_LIMIT_MS): Promise<void> {
    for (const gateway of this.#endpoints.keys())
      await waitFor(
        `gateway ${gateway} to see ${hosts} hosts up`,
        () => this.#expectHostsUp(gateway, hosts),
        limitMs,
      )
  }

  /** Throws with what this gateway knows when that is something else. */
  async #expectHostsUp(gateway: number, hosts: number): Promise<true> {
    const admin = this.as('admin')
    const path = '/compute/v2.1/os-services?binary=nova-compute'
    const { body } = await admin.get<{
      readonly services: readonly { readonly state: string }[]
    }>(path, { gateway })
    if (body.services.filter(({ state }) => state === 'up').length === hosts) return true
    const cells = await admin.get('/federation/v1/cells', { gateway })
    throw new Error(`It sees ${JSON.stringify({ services: body.services, cells: cells.body })}`)
  }

  async #startGateways(): Promise<void> {
    for (let nth = 1; nth <= (this.#options.gateways ?? 2); nth += 1) {
      const { process, port } = await this.#startGateway(nth)
      this.#gateways = [...this.#gateways, process]
      this.#endpoints = [...this.#endpoints, `http://127.0.0.1:${port}`]
    }
  }

  /** Another server that starts on this machine may take the port in between. */
  async #startGateway(nth: number, tries = 1): Promise<{ process: CloudProcess; port: number }> {
    const port = await freePort()
    const program = await gatewayProgram(this.foundation, this.#options, { nth, port })
    const process = this.#process(program, 'gateway')
    try {
      await process.start()
      return { process, port }
    } catch (error) {
      if (tries >= PORT_TRIES_MAX || !errorChain(error).includes('EADDRINUSE')) throw error
      return this.#startGateway(nth, tries + 1)
    }
  }

  async #startCells(): Promise<void> {
    this.#cells = await Promise.all(
      this.foundation.cells.map(async (cell) => ({
        ...cell,
        processes: await this.#startCell(cell),
        computes: await this.#startHosts(cell),
      })),
    )
  }

  /** One after the other: the first one makes the database. */
  async #startCell(cell: CellPlan): Promise<readonly CloudProcess[]> {
    const processes: CloudProcess[] = []
    for (let nth = 1; nth <= (this.#options.processesPerCell ?? 2); nth += 1) {
      const program = await cellProgram(this.foundation, this.#options, {
        cell,
        nth,
        imageUrl: this.#imageUrl(),
      })
      const process = this.#process(program, 'cell')
      await process.start()
      processes.push(process)
    }
    return processes
  }

  async #startHosts(cell: CellPlan): Promise<readonly CloudHost[]> {
    return Promise.all(
      cell.hosts.map(async (host) => {
        const program = await hostProgram(
          this.foundation,
          this.#options,
          {
            cell,
            host,
            imageUrl: this.#imageUrl(),
          },
          (driver) => {
            compute.driver = driver
          },
        )
        const compute = new CloudHost(host, this.#process(program, 'host'))
        await compute.process.start()
        return compute
      }),
    )
  }

  #process(planned: Program, kind: 'gateway' | 'cell' | 'host'): CloudProcess {
    const isUnwired = kind !== 'cell' && this.#options.unwired?.includes(kind) === true
    const program = isUnwired ? { ...planned, wires: [] } : planned
    const isOutside = kind !== 'host' && this.#options.outside?.includes(kind) === true
    const logFile = join(this.foundation.directory, `${program.name}.log`)
    return this.#owned.use(new CloudProcess(program, isOutside, logFile))
  }
}

/** A running cloud; `await using`, or dispose it in `afterAll`. */
export async function startCloud(options: CloudOptions = {}): Promise<Cloud> {
  const cloud = new Cloud(await layFoundation(options), options)
  try {
    await cloud.start()
    return cloud
  } catch (error) {
    await cloud[Symbol.asyncDispose]()
    throw error
  }
}
