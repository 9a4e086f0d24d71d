import { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import { registerCell } from '#gateway/app/cells/register-cell.ts'
import type { ServerNetwork } from '#gateway/app/servers/boot/server-network.ts'
import { queueMappings } from '#gateway/db/instance-mappings.ts'
import { queueRequestSpecs } from '#gateway/db/request-specs.ts'
import { queueServers } from '#gateway/db/server-index.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import type { MigrationView } from '#openapi/wire/migration.ts'
import { migratedDatabase } from './migrated-database.ts'
import { sampleServer } from './sample-server.ts'

/** A global database of its own. */
export async function globalDatabase(name: string): Promise<Database> {
  const url = await migratedDatabase(name, 'gateway')
  return new Database({ url, connectionsMax: 8 })
}

export async function addCell(db: Database, name: string): Promise<CellId> {
  const id = newId<CellId>()
  await registerCell(db, { id, name })
  return id
}

const OWNER = { projectId: 'p'.repeat(32), userId: 'u'.repeat(32) }
const CHARGE = { cores: 1, ramMb: 128 }

/**
 * A server that was accepted, and mapped to the cell at this attempt; its first password is stored. Its row has the
 * charge of its project, and no ledger has.
 */
export async function addServer(
  db: Database,
  cellId: CellId | null,
  attempt = 1,
  { owner = OWNER, charge = CHARGE } = {},
): Promise<string> {
  const server = sampleServer(owner, cellId, { attempt })
  const { id: serverId, projectId } = server
  await db.transaction((tx) => {
    queueMappings(tx, [{ serverId, projectId, ...charge, cellId, attempt, sagaId: null }])
    const sealed = { sealedUserData: null, sealedFiles: null, sealedPassword: 'sealed' }
    queueRequestSpecs(tx, [{ serverId, spec: {} as never, ...sealed }])
    queueServers(tx, [server])
    return Promise.resolve()
  })
  return serverId
}

/** A view of a server that runs. */
export function activeView(serverId: string, change: Partial<InstanceView> = {}): InstanceView {
  return {
    serverId,
    attempt: 1,
    version: 2,
    vmState: 'active',
    taskState: null,
    powerState: 1,
    hostId: newId(),
    host: 'host-1',
    hypervisorHostname: 'host-1',
    instanceName: 'instance-1',
    zone: 'nova',
    launchedAt: 1_700_000_000_000,
    terminatedAt: null,
    fault: null,
    ...change,
  }
}

/** A view of a server's move from host `a` to host `b` that has finished. */
export function sampleMigration(
  serverId: string,
  change: Partial<MigrationView> = {},
): MigrationView {
  return {
    id: newId(),
    serverId,
    version: 1,
    type: 'migration',
    status: 'finished',
    sourceHost: 'a',
    sourceNode: 'a',
    destHost: 'b',
    destNode: 'b',
    oldFlavorId: '1',
    newFlavorId: '1',
    userId: 'u',
    projectId: 'p',
    createdAt: 1_000,
    updatedAt: 1_000,
    ...change,
  }
}

/** A network service that notes which servers were bound and released. */
export function notedNetwork() {
  const bound: string[] = []
  const released: string[] = []
  const network: ServerNetwork = {
    networksOf: async () => [],
    bind: async (_tx, _cell, views) => {
      bound.push(...views.map(({ serverId }) => serverId))
    },
    nicsOf: async () => [],
    nicOf: async () => undefined,
    bindNic: async () => {},
    releaseNic: async () => {},
    release: async (_tx, servers) => {
      released.push(...servers)
    },
  }
  return { network, bound, released }
}
