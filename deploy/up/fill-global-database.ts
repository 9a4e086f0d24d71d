import { readFileSync } from 'node:fs'
import { Database } from '#common/db/database.ts'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { registerCell } from '#gateway/cells/register-cell.ts'
import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'

const CONNECTIONS = 2

/**
 * Afterwards the global database has the users of clouds.yaml with their roles and projects, and every cell: what no
 * API can make before somebody may sign in. Whatever exists is left alone.
 */
export async function fillGlobalDatabase(
  layout: Layout,
  state: DeploymentState,
  databaseUrlFile: string,
): Promise<void> {
  const url = readFileSync(databaseUrlFile, 'utf8')
  await using db = new Database({ url, connectionsMax: CONNECTIONS })
  await bootstrapIdentity(db, {
    adminPassword: cloudAccount(layout, 'weir-admin').password,
    demoPassword: cloudAccount(layout, 'weir').password,
  })
  for (const { id, name } of state.cells) await registerCell(db, { id, name })
}
