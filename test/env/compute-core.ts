import { randomBytes } from 'node:crypto'
import type { NatsConnection } from '@nats-io/transport-node'
import { connectBus } from '#common/bus/connect.ts'
import { type Clock, systemClock } from '#common/clock.ts'
import { workContext } from '#common/context.ts'
import { Database, type Transactional } from '#common/db/database.ts'
import { type CellId, type InstanceId, newId } from '#common/ids.ts'
import type { IsolatedRunner } from '#common/isolated/isolated-runner.ts'
import { createLogger, type Logger } from '#common/log.ts'
import { Secrets } from '#common/secrets.ts'
import { waitFor } from '#common/wait-for.ts'
import { registerCell } from '#gateway/app/cells/register-cell.ts'
import { openCompute, type RunningCompute } from '#gateway/app/open-compute.ts'
import { Reach } from '#gateway/app/reach.ts'
import type { ServerImages } from '#gateway/app/servers/boot/server-images.ts'
import type { NicsPlan, ServerNetwork } from '#gateway/app/servers/boot/server-network.ts'
import type { PlannedServer, ServerOrder } from '#gateway/app/servers/list/server-order.ts'
import type { ServerRecord } from '#gateway/app/servers/list/server-record.ts'
import { findServer } from '#gateway/db/find-server.ts'
import { retentionFromEnv } from '#gateway/retention.ts'
import { type FreshBus, freshBus } from './fresh-bus.ts'
import { migratedDatabase } from './migrated-database.ts'
import { ScriptedCell } from './scripted-cell.ts'

const log = createLogger('compute-core', process.env['TEST_LOG'] ?? 'silent')
const WAIT_MS = 30_000
const CONNECTIONS = 16

/** Servers without any network: what the network service does is tested with it. */
const NO_NETWORK: ServerNetwork = {
  networksOf: async () => [],
  nicsOf: async () => [],
  bind: async () => {},
  nicOf: async () => undefined,
  bindNic: async () => {},
  releaseNic: async () => {},
  release: async () => {},
}
/** An image service that nothing is saved in. */
export const NO_IMAGES: ServerImages = {
  reserve: async () => {},
  withdraw: async () => {},
  fillTicket: () => 'ticket',
  tidy: async () => 0,
}
const NO_NICS: NicsPlan = {
  networks: [],
  needsFirewall: false,
  securityGroups: [],
  allocate: async () => ({ nics: [], addresses: {} }),
  quick: undefined,
}

/** A global database and a bus with scripted cells, on which any number of compute cores can be opened. */
export class CoreEnv implements AsyncDisposable {
  readonly db: Database
  readonly bus: FreshBus
  readonly cells: readonly ScriptedCell[]
  readonly #parts: AsyncDisposableStack
  readonly #key = randomBytes(32)

  private constructor(
    parts: AsyncDisposableStack,
    db: Database,
    bus: FreshBus,
    cells: readonly ScriptedCell[],
  ) {
    this.#parts = parts
    this.db = db
    this.bus = bus
    this.cells = cells
  }

  static async open(name: string, cellNames: readonly string[]): Promise<CoreEnv> {
    await using parts = new AsyncDisposableStack()
    const url = await migratedDatabase(name, 'gateway')
    const db = parts.use(new Database({ url, connectionsMax: CONNECTIONS }))
    const ids = cellNames.map(() => newId<CellId>())
    const bus = parts.use(await freshBus(ids))
    const cells: ScriptedCell[] = []
    for (const [index, cellName] of cellNames.entries()) {
      await registerCell(db, { id: ids[index]!, name: cellName })
      cells.push(parts.use(await ScriptedCell.open(bus, ids[index]!, cellName)))
    }
    return new CoreEnv(parts.move(), db, bus, cells)
  }

  /**
   * A compute core that hears all cells; `db` may stand in for the database of a process that dies, and `onBus` change
   * its connection.
   */
  async core({
    onBus = () => {},
    hears = this.cells,
    ...options
  }: {
    db?: Transactional
    processName?: string
    isolated?: Pick<IsolatedRunner, 'run'>
    cellDeadlineMs?: number
    log?: Logger
    clock?: Clock
    network?: ServerNetwork
    images?: ServerImages
    /** Waits for heartbeats of these; absent: of all cells. */
    hears?: readonly ScriptedCell[]
    onBus?: (nats: NatsConnection) => void
  } = {}): Promise<RunningCompute & { readonly nats: NatsConnection }> {
    const credentialsFile = await this.bus.gatewayCredentialsFile()
    const nats = await connectBus({ url: this.bus.url, credentialsFile, name: 'core' }, log)
    onBus(nats)
    const core = await openCompute({
      db: this.db,
      nats,
      clock: systemClock,
      log,
      secrets: new Secrets([this.#key]),
      network: NO_NETWORK,
      imageTicket: () => 'ticket',
      onNumbered: () => {},
      reach: new Reach(),
      images: NO_IMAGES,
      dueTimes: { resizeConfirmWindowS: 0, shelvedOffloadTimeS: -1 },
      reclaimIntervalS: 0,
      forcesConfigDrive: false,
      schedulingPolicy: 'filter',
      prices: undefined,
      processName: newId(),
      retention: retentionFromEnv({}),
      ...options,
    })
    await waitFor(
      'heartbeats of cells',
      () => hears.every(({ id }) => core.cells.cell(id)?.isReachable === true),
      WAIT_MS,
    )
    return {
      ...core,
      nats,
      [Symbol.asyncDispose]: async () => {
        await core[Symbol.asyncDispose]()
        await nats.close()
      },
    }
  }

  /** Afterwards the core has asked each of the cells for all that it has: scripted cells know no volumes, and answer so. */
  async untilResynced(
    core: Pick<RunningCompute, 'cells'>,
    cells: readonly ScriptedCell[] = this.cells,
  ): Promise<void> {
    await waitFor(
      'the gateway to have asked the cells',
      () => cells.every(({ id }) => core.cells.cell(id)?.needsResync === false),
      2 * WAIT_MS,
    )
  }

  server(id: string): Promise<ServerRecord | undefined> {
    return findServer(this.db, id)
  }

  /** Waits until `is` is true for the server. */
  async until(id: string, is: (server: ServerRecord) => boolean): Promise<ServerRecord> {
    return waitFor(
      `server ${id}`,
      async () => {
        const server = await this.server(id)
        if (server !== undefined && is(server)) return server
        throw new Error(`It is ${server?.vmState}, ${server?.taskState}`)
      },
      WAIT_MS,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync()
  }
}

export const work = () => workContext({})

/** An order for servers that are to be built in this cell, as a plan from a request would make it. */
export function orderFor(
  cell: { readonly id: CellId; readonly name: string } | null,
  change: Partial<ServerOrder> & { readonly count?: number; readonly projectId?: string } = {},
): ServerOrder {
  const { count = 1, projectId = newId<string>(), ...rest } = change
  const servers = Array.from({ length: count }, (_, index) => planned(cell, projectId, index))
  return {
    servers,
    nics: NO_NICS,
    promise: null,
    group: null,
    hints: {},
    userData: null,
    files: [],
    adminPassword: null,
    key: null,
    ...rest,
  }
}

function planned(
  cell: { readonly id: CellId; readonly name: string } | null,
  projectId: string,
  launchIndex: number,
): PlannedServer {
  const name = `vm-${launchIndex}`
  const flavor = {
    id: '1',
    name: 'm1.tiny',
    vcpus: 1,
    memoryMb: 128,
    rootGb: 1,
    ephemeralGb: 0,
    swapMb: 0,
    extraSpecs: {},
  }
  const owner = { projectId, userId: 'u'.repeat(32) }
  const shared = { ...owner, name, hostname: name, metadata: {}, flavor, configDrive: false }
  return {
    row: {
      ...shared,
      id: newId<InstanceId>(),
      cellId: cell?.id ?? null,
      description: null,
      tags: [],
      imageId: null,
      keyName: null,
      securityGroups: [],
      reservationId: 'r-00000000',
      attempt: 1,
      launchIndex,
      diskConfig: 'MANUAL',
      requestedZone: null,
      accessIPv4: null,
      accessIPv6: null,
      vmState: cell === null ? 'error' : 'building',
      taskState: cell === null ? null : 'scheduling',
      fault: null,
    },
    volumes: [],
    spec: {
      ...shared,
      image: {
        id: newId(),
        name: 'tiny',
        diskFormat: 'qcow2',
        sizeBytes: 1,
        sha256: '0'.repeat(64),
        minDiskGb: 0,
        minRamMb: 0,
        properties: { hypervisor_type: 'fake' },
      },
      keypair: null,
      zone: null,
      requestedHost: null,
      launchIndex,
      reservationId: 'r-00000000',
    },
    trace: {
      at: 1,
      level: 'cells',
      considered: 1,
      filters: [],
      scores: [],
      lostClaims: [],
      chosen: cell?.name ?? null,
      tookMs: 0,
    },
  }
}
