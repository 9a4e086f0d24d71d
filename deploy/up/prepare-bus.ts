import {
  computePermissions,
  gatewayAccount,
  SERVER_SIDE_PERMISSIONS,
} from '#gateway/bus/accounts.ts'
import { admitCell } from '#gateway/bus/admit-cell.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { pushAccount } from '#gateway/bus/push-account.ts'
import type { Layout } from '../deployment/layout.ts'
import { secretFile } from '../deployment/secret-file.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { connectSystem } from '../nats/connect-system.ts'
import { keyPair } from '../nats/nats-keys.ts'
import type { Nats } from '../nats.ts'

/** Paths of credentials files: for gateways, and by id for cells and hosts. */
export interface BusCredentials {
  readonly gateway: string
  readonly of: ReadonlyMap<string, string>
}

/** Afterwards NATS knows the account of every cell, and every program has its credentials file (0600). */
export async function prepareBus(
  layout: Layout,
  nats: Nats,
  state: DeploymentState,
): Promise<BusCredentials> {
  await pushAccounts(nats, state)
  const { gatewaySeed } = nats.keys
  const of = new Map<string, string>()
  for (const cell of state.cells) {
    const { seed } = cell.account
    const issue = (name: string, permissions: Parameters<typeof issueCredentials>[2]) =>
      secretFile(layout, `${name}.creds`, () => issueCredentials(name, seed, permissions))
    of.set(cell.id, await issue(`cell-${cell.name}`, SERVER_SIDE_PERMISSIONS))
    for (const host of cell.hosts)
      of.set(host.id, await issue(`host-${host.name}`, computePermissions(cell.id, host.id)))
  }
  const gateway = await secretFile(layout, 'gateway.creds', () =>
    issueCredentials('gateway', gatewaySeed, SERVER_SIDE_PERMISSIONS),
  )
  return { gateway, of }
}

/** NATS keeps accounts over restarts; pushing them again costs little and heals a lost disk. */
async function pushAccounts(nats: Nats, state: DeploymentState): Promise<void> {
  const system = await connectSystem(nats.url, nats.keys.systemSeed)
  try {
    const operator = { system, operatorSeed: nats.keys.operatorSeed }
    const gatewayKey = keyPair(nats.keys.gatewaySeed).getPublicKey()
    const accounts = state.cells.map(({ account }) => account)
    await pushAccount(operator, 'gateway', gatewayKey, gatewayAccount(accounts))
    for (const { id } of state.cells) await admitCell(operator, gatewayKey, id, accounts)
  } finally {
    await system.close()
  }
}
