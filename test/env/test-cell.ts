import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { NatsConnection } from '@nats-io/transport-node'
import { configFromEnv as computeConfigFromEnv } from '#cells/compute/config.ts'
import { type RunningCompute, startCompute } from '#cells/compute/context.ts'
import { type CellConfig, configFromEnv } from '#cells/config.ts'
import { type RunningCell, startCell } from '#cells/context.ts'
import type { ImageTarget } from '#cells/images/image-client.ts'
import { ask } from '#common/bus/ask.ts'
import { connectBus } from '#common/bus/connect.ts'
import { workContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import type { DiskImage } from '#drivers/driver.ts'
import { createFakeDriver, type FakeDriver } from '#drivers/fake/driver.ts'
import { fakeSettings } from '#drivers/fake/settings.ts'
import type { Routing } from '#drivers/routing.ts'
import type { CellAnswer, CellAsk, CellOperation } from '#openapi/wire/cell.ts'
import type { FeedBatch, FeedRow } from '#openapi/wire/feed.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { cellSubject, eventSubject } from '#openapi/wire.ts'
import { type FreshBus, freshBus } from './fresh-bus.ts'
import { migratedDatabase } from './migrated-database.ts'
import { operationOn, sampleBuild } from './sample-build.ts'
import { testServices } from './services.ts'

export interface TestHost extends AsyncDisposable {
  readonly id: HostId
  readonly name: string
  readonly driver: FakeDriver
  /** Images it has filled, each with its size. */
  readonly filled: readonly string[]
  readonly compute: RunningCompute
}

export interface TestHostOptions {
  readonly name: string
  readonly id?: HostId
  readonly stateDirectory?: string
  readonly vcpus?: number
  readonly memoryMb?: number
  readonly diskGb?: number
  /** The folder of a store that it shares with other hosts; absent: it has a store of its own. */
  readonly volumeStore?: string
  readonly volumeStoreGb?: number
  /** How many whole machines of each class; absent: the host gives parts. */
  readonly machines?: ReadonlyMap<string, number>
  readonly numaNodes?: number
  /** Its NUMA nodes are providers of their own. */
  readonly hasNumaProviders?: true
  readonly resources?: ReadonlyMap<string, number>
  /** How busy its machine is said to be. */
  readonly metrics?: ReadonlyMap<string, number>
  readonly zone?: string
  /** How many guests one report names. */
  readonly reportedGuestsMax?: number
  /** It says that OVN joins its guests' ports. */
  readonly joinedByOvn?: true
  /** It has routers of its own. */
  readonly routing?: Routing
}

const ASK_TIMEOUT_MS = 10_000
const WAIT_MS = 30_000

/** One cell on the run's MariaDB and NATS, seen as a gateway sees it. Processes and hosts are added as needed. */
export class TestCell implements AsyncDisposable {
  readonly id: CellId
  readonly databaseUrl: string
  readonly gateway: NatsConnection
  /** Everything the cell has published on its feed, in the order it came. */
  readonly feed: FeedRow[] = []
  readonly #bus: FreshBus
  readonly #secretKey = randomBytes(32).toString('hex')
  readonly #owned = new AsyncDisposableStack()

  constructor(id: CellId, databaseUrl: string, gateway: NatsConnection, bus: FreshBus) {
    this.id = id
    this.databaseUrl = databaseUrl
    this.gateway = gateway
    this.#bus = bus
    this.#owned.use(bus)
    this.#owned.defer(() => gateway.close())
    gateway.subscribe(eventSubject(id, 'feed'), {
      callback: (error, message) => {
        if (error === null) this.feed.push(...message.json<FeedBatch>().rows)
      },
    })
  }

  /** Another process of the cell. */
  async addProcess(name: string, change: Partial<CellConfig> = {}): Promise<RunningCell> {
    const config = configFromEnv({
      CELL_ID: this.id,
      CELL_NAME: 'test',
      CELL_PROCESS: name,
      CELL_DATABASE_URL: this.databaseUrl,
      CELL_SECRET_KEY: this.#secretKey,
      CELL_NATS_URL: this.#bus.url,
      CELL_NATS_CREDENTIALS_FILE: await this.#bus.cellCredentialsFile(this.id),
      CELL_LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'error',
    })
    return this.#owned.use(await startCell({ ...config, ...change }))
  }

  /** Another host, simulated, known to the cell once this resolves. */
  async addHost(options: TestHostOptions): Promise<TestHost> {
    const {
      name,
      id = newId<HostId>(),
      zone,
      reportedGuestsMax,
      joinedByOvn,
      routing,
      hasNumaProviders,
      ...capacity
    } = options
    const { directory } = await testServices()
    const stateDirectory = options.stateDirectory ?? mkdtempSync(join(directory, 'host-'))
    const config = computeConfigFromEnv({
      COMPUTE_CELL_ID: this.id,
      COMPUTE_HOST_ID: id,
      COMPUTE_HOST_NAME: name,
      ...(zone === undefined ? {} : { COMPUTE_ZONE: zone }),
      ...(hasNumaProviders && { COMPUTE_ENABLE_NUMA_REPORTING_TO_PLACEMENT: 'true' }),
      ...(reportedGuestsMax && { COMPUTE_REPORTED_GUESTS_MAX: String(reportedGuestsMax) }),
      COMPUTE_NATS_URL: this.#bus.url,
      COMPUTE_NATS_CREDENTIALS_FILE: await this.#bus.computeCredentialsFile(this.id, id),
      COMPUTE_IMAGE_URL: 'http://127.0.0.1:1',
      COMPUTE_STATE_DIRECTORY: stateDirectory,
      COMPUTE_DRIVER: 'fake',
      COMPUTE_LOG_LEVEL: 'error',
    })
    const settings = { ...fakeSettings({ hostname: `${name}.example` }), ...capacity }
    const made = createFakeDriver(
      { stateDirectory, owner: { cellId: this.id, hostId: id } },
      settings,
    )
    const driver = Object.assign(made, {
      ...(joinedByOvn && { networkEngine: 'ovn' as const }),
      ...(routing && { routing }),
    })
    const filled: string[] = []
    const images = {
      open: () => Promise.reject(new Failure('unavailable', 'A fake host opens no image.')),
      fill: async ({ imageId }: ImageTarget, disk: DiskImage) => {
        for await (const chunk of disk.content()) filled.push(`${imageId} ${chunk.length}`)
        return true
      },
      keep: () => Promise.reject(new Failure('not-found', 'Gateways read nothing of this host.')),
      isKept: () => Promise.resolve(false),
    }
    const parts = { createDriver: () => Promise.resolve(driver), images }
    const compute = this.#owned.use(await startCompute(config, parts))
    return {
      id,
      name,
      driver,
      filled,
      compute,
      [Symbol.asyncDispose]: () => compute[Symbol.asyncDispose](),
    }
  }

  ask<O extends CellOperation>(operation: O, payload: CellAsk<O>): Promise<CellAnswer<O>> {
    return ask(this.gateway, {
      subject: cellSubject(this.id, operation),
      payload,
      work: workContext({}),
      timeoutMs: ASK_TIMEOUT_MS,
      whom: 'The cell',
    }) as Promise<CellAnswer<O>>
  }

  /** The first row of the feed that matches, waited for. */
  waitForFeed<K extends FeedRow['body']['kind']>(
    kind: K,
    matches: (body: Extract<FeedRow['body'], { kind: K }>) => boolean = () => true,
  ): Promise<Extract<FeedRow['body'], { kind: K }>> {
    type Body = Extract<FeedRow['body'], { kind: K }>
    const isIt = ({ body }: FeedRow) => body.kind === kind && matches(body as Body)
    return waitFor(`a feed row of kind ${kind}`, () => this.feed.find(isIt)?.body as Body, WAIT_MS)
  }

  /** Builds a server; resolves once it is active. */
  async activeServer(build = sampleBuild()): Promise<OperationRef> {
    const operation = operationOn()
    await this.ask('instance.build', { operation, build })
    await this.waitForFeed(
      'instance',
      ({ view }) => view.serverId === operation.serverId && view.vmState === 'active',
    )
    return operation
  }

  /** Resolves once the cell's processes would place servers on so many hosts. */
  async waitForHosts(running: RunningCell, count: number): Promise<void> {
    const { hosts } = running.cell.conductor
    const up = () => hosts.states().filter(({ isUp }) => isUp).length === count
    await waitFor(`${count} hosts up`, up, WAIT_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync()
  }
}

/** A new cell without processes or hosts. Dispose it (`await using`, or in `afterAll`). */
export async function testCell(name: string): Promise<TestCell> {
  const id = newId<CellId>()
  const bus = await freshBus([id])
  const log = createLogger('test', 'error')
  const credentialsFile = await bus.gatewayCredentialsFile()
  const gateway = await connectBus({ url: bus.url, credentialsFile, name: 'test gateway' }, log)
  return new TestCell(id, await migratedDatabase(name, 'cells'), gateway, bus)
}
