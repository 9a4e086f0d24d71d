import { readCredential } from '#common/bus/credential.ts'
import type { Database } from '#common/db/database.ts'
import type { Secrets } from '#common/secrets.ts'
import { registerCell } from '#gateway/app/cells/register-cell.ts'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { sealedAccount } from '#gateway/cell-client/cell-access.ts'
import { recordBusKey } from '#gateway/db/bus-keys.ts'
import { insertCellAccount, listCellAccounts } from '#gateway/db/cell-accounts.ts'
import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import type { CellRecord, DeploymentState } from '../deployment/state.ts'
import { credentialsFiles } from './prepare-bus.ts'

/**
 * Afterwards the global database has the users of clouds.yaml with their roles and projects, and every cell: objects
 * that must exist before the first login, so no API can create them. Existing objects are left unchanged.
 */
export async function fillGlobalDatabase(
  layout: Layout,
  state: DeploymentState,
  db: Database,
  secrets: Secrets,
): Promise<void> {
  await bootstrapIdentity(db, {
    adminPassword: cloudAccount(layout, 'weir-admin').password,
    demoPassword: cloudAccount(layout, 'weir').password,
  })
  for (const { id, name, account, hosts } of state.cells) {
    await registerCell(db, { id, name })
    await insertCellAccount(db, sealedAccount(secrets, id, account))
    await recordKeys(layout, db, { id, name, hosts })
  }
}

/** So that a single one of them can be shut out. */
async function recordKeys(
  layout: Layout,
  db: Database,
  cell: Pick<CellRecord, 'id' | 'name' | 'hosts'>,
): Promise<void> {
  const ids = [null, ...cell.hosts.map(({ id }) => id)]
  for (const [nth, file] of credentialsFiles(layout, cell).entries()) {
    const { sub: publicKey } = readCredential(file).claims
    await recordBusKey(db, { publicKey, cellId: cell.id, hostId: ids[nth] ?? null })
  }
}

/** The cells of the deployment that have left, or were shut out: their accounts are refused. */
export async function cellsGone(
  state: DeploymentState,
  db: Database,
): Promise<readonly CellRecord[]> {
  const accounts = await listCellAccounts(db)
  const revoked = new Set(
    accounts.filter(({ revokedAt }) => revokedAt !== null).map(({ publicKey }) => publicKey),
  )
  return state.cells.filter(({ account }) => revoked.has(account.publicKey))
}
