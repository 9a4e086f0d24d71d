import { join } from 'node:path'
import {
  CREDENTIAL_LIFETIME_S,
  isRenewalDue,
  readCredential,
  writeCredential,
} from '#common/bus/credential.ts'
import { systemClock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import { AccountPublisher } from '#gateway/bus/account-keeper.ts'
import {
  type BusRights,
  computePermissions,
  OPERATOR_PERMISSIONS,
  SERVER_SIDE_PERMISSIONS,
} from '#gateway/bus/accounts.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { signUser } from '#gateway/bus/sign-user.ts'
import { listKeptAccounts } from '#gateway/db/cell-accounts.ts'
import type { Layout } from '../deployment/layout.ts'
import { secretFile } from '../deployment/secret-file.ts'
import type { CellRecord, DeploymentState } from '../deployment/state.ts'
import { connectSystem } from '../nats/connect-system.ts'
import { keyPair } from '../nats/nats-keys.ts'
import type { Bus } from './services.ts'

/** Paths of credentials files: for gateways, and by id for cells and hosts. */
export interface BusCredentials {
  readonly gateway: string
  /** With it gateways let cells in and shut them out. */
  readonly operator: string
  readonly of: ReadonlyMap<string, string>
}

/** Afterwards every program has its credentials file (0600), with a credential that half of its life is left of. */
export async function prepareBus(
  layout: Layout,
  bus: Pick<Bus, 'keys'>,
  state: DeploymentState,
): Promise<BusCredentials> {
  const { gatewaySeed, systemSeed } = bus.keys
  const lifetimeS = lifetimeOf(state)
  const keep = (name: string, seed: string, permissions: BusRights) =>
    keepCredentials(layout, { name, seed, permissions, lifetimeS })
  const gateway = await keep('gateway', gatewaySeed, SERVER_SIDE_PERMISSIONS)
  const operator = await keep('gateway-operator', systemSeed, OPERATOR_PERMISSIONS)
  return { gateway, operator, of: await issueCellCredentials(layout, state) }
}

/** Afterwards the programs of every cell have theirs; by id of the cell or host. */
export async function issueCellCredentials(
  layout: Layout,
  state: DeploymentState,
): Promise<ReadonlyMap<string, string>> {
  const of = new Map<string, string>()
  const lifetimeS = lifetimeOf(state)
  for (const cell of state.cells) {
    const { seed } = cell.account
    await secretFile(layout, cellSeedName(cell), () => seed)
    const keep = (name: string, permissions: BusRights) =>
      keepCredentials(layout, { name, seed, permissions, lifetimeS })
    of.set(cell.id, await keep(`cell-${cell.name}`, SERVER_SIDE_PERMISSIONS))
    for (const host of cell.hosts)
      of.set(host.id, await keep(`host-${host.name}`, computePermissions(cell.id, host.id)))
  }
  return of
}

interface Issued {
  readonly name: string
  /** Of the account. */
  readonly seed: string
  readonly permissions: BusRights
  readonly lifetimeS: number
}

/** One that is older than half its life, or has none, is signed again for the same key. */
async function keepCredentials(
  layout: Layout,
  { name, seed, permissions, lifetimeS }: Issued,
): Promise<string> {
  const file = await secretFile(layout, `${name}.creds`, () =>
    issueCredentials(name, seed, permissions, lifetimeS),
  )
  const present = readCredential(file)
  if (isRenewalDue(present, systemClock.now())) {
    const again = await signUser(name, present.claims.sub, seed, permissions, lifetimeS)
    writeCredential(file, again, present.seed)
  }
  return file
}

function lifetimeOf({ settings }: DeploymentState): number {
  return Number(settings?.['GATEWAY_BUS_CREDENTIAL_LIFETIME_S'] ?? CREDENTIAL_LIFETIME_S)
}

/** Where the seed of a cell's account is kept, with which its programs renew their credentials. */
export function cellSeedFile(layout: Layout, cell: Pick<CellRecord, 'name'>): string {
  return join(layout.secrets, cellSeedName(cell))
}

function cellSeedName({ name }: Pick<CellRecord, 'name'>): string {
  return `cell-${name}-account.nk`
}

/** Where the credentials of a cell's programs are kept. */
export function credentialsFiles(
  layout: Layout,
  { name, hosts }: Pick<CellRecord, 'name' | 'hosts'>,
): readonly string[] {
  const programs = [`cell-${name}`, ...hosts.map((host) => `host-${host.name}`)]
  return programs.map((program) => join(layout.secrets, `${program}.creds`))
}

/** The same, with the seed of its account and the key to what its database holds sealed. */
export function cellSecrets(
  layout: Layout,
  cell: Pick<CellRecord, 'name' | 'hosts'>,
): readonly string[] {
  const key = join(layout.secrets, `cell-${cell.name}.key`)
  return [...credentialsFiles(layout, cell), cellSeedFile(layout, cell), key]
}

/**
 * Afterwards NATS knows the gateways' account and that of every cell in the global database. It keeps them over
 * restarts; doing it again costs little and heals a lost disk.
 */
export async function keepAccounts(bus: Pick<Bus, 'url' | 'keys'>, db: Executor): Promise<void> {
  const system = await connectSystem(bus.url, bus.keys.systemSeed)
  try {
    const operator = { system, operatorSeed: bus.keys.operatorSeed }
    const gatewayKey = keyPair(bus.keys.gatewaySeed).getPublicKey()
    await new AccountPublisher(operator, gatewayKey, () => listKeptAccounts(db)).keep()
  } finally {
    await system.close()
  }
}
