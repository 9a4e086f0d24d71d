import { join } from 'node:path'
import type { Executor } from '#common/db/database.ts'
import { AccountKeeper } from '#gateway/bus/account-keeper.ts'
import {
  computePermissions,
  OPERATOR_PERMISSIONS,
  SERVER_SIDE_PERMISSIONS,
} from '#gateway/bus/accounts.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { listCellAccounts } from '#gateway/db/cell-accounts.ts'
import type { Layout } from '../deployment/layout.ts'
import { secretFile } from '../deployment/secret-file.ts'
import type { CellRecord, DeploymentState } from '../deployment/state.ts'
import { connectSystem } from '../nats/connect-system.ts'
import { keyPair } from '../nats/nats-keys.ts'
import type { Nats } from '../nats.ts'

/** Paths of credentials files: for gateways, and by id for cells and hosts. */
export interface BusCredentials {
  readonly gateway: string
  /** With it gateways let cells in and shut them out. */
  readonly operator: string
  readonly of: ReadonlyMap<string, string>
}

/** Afterwards every program has its credentials file (0600). */
export async function prepareBus(
  layout: Layout,
  nats: Nats,
  state: DeploymentState,
): Promise<BusCredentials> {
  const { gatewaySeed, systemSeed } = nats.keys
  const gateway = await secretFile(layout, 'gateway.creds', () =>
    issueCredentials('gateway', gatewaySeed, SERVER_SIDE_PERMISSIONS),
  )
  const operator = await secretFile(layout, 'gateway-operator.creds', () =>
    issueCredentials('gateway-operator', systemSeed, OPERATOR_PERMISSIONS),
  )
  return { gateway, operator, of: await issueCellCredentials(layout, state) }
}

/** Afterwards the programs of every cell have theirs; by id of the cell or host. */
export async function issueCellCredentials(
  layout: Layout,
  state: DeploymentState,
): Promise<ReadonlyMap<string, string>> {
  const of = new Map<string, string>()
  for (const cell of state.cells) {
    const { seed } = cell.account
    const issue = (name: string, permissions: Parameters<typeof issueCredentials>[2]) =>
      secretFile(layout, `${name}.creds`, () => issueCredentials(name, seed, permissions))
    of.set(cell.id, await issue(`cell-${cell.name}`, SERVER_SIDE_PERMISSIONS))
    for (const host of cell.hosts)
      of.set(host.id, await issue(`host-${host.name}`, computePermissions(cell.id, host.id)))
  }
  return of
}

/** Where the credentials of a cell's programs are kept, and the key to what its database holds sealed. */
export function cellSecrets(
  layout: Layout,
  { name, hosts }: Pick<CellRecord, 'name' | 'hosts'>,
): readonly string[] {
  const programs = [`cell-${name}`, ...hosts.map((host) => `host-${host.name}`)]
  const files = [...programs.map((program) => `${program}.creds`), `cell-${name}.key`]
  return files.map((file) => join(layout.secrets, file))
}

/**
 * Afterwards NATS knows the gateways' account and that of every cell in the global database. It keeps them over
 * restarts; doing it again costs little and heals a lost disk.
 */
export async function keepAccounts(nats: Nats, db: Executor): Promise<void> {
  const system = await connectSystem(nats.url, nats.keys.systemSeed)
  try {
    const operator = { system, operatorSeed: nats.keys.operatorSeed }
    const gatewayKey = keyPair(nats.keys.gatewaySeed).getPublicKey()
    await new AccountKeeper(operator, gatewayKey, () => listCellAccounts(db)).keep()
  } finally {
    await system.close()
  }
}
