import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '#common/db/database.ts'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { existingControlPlane, FILES, type Folders } from './control-plane.ts'
import { readSecret } from './shared-files.ts'

const CONNECTIONS = 2

/**
 * Afterwards the database of the gateways, which must be migrated, has the users of clouds.yaml with their roles and
 * projects. Users that exist keep their passwords. True if the administrator is new.
 */
export async function bootstrapControlPlane(folders: Folders): Promise<boolean> {
  existingControlPlane(folders)
  const { directory } = folders
  const url = readFileSync(join(directory, FILES.databaseUrl), 'utf8').trim()
  await using db = new Database({ url, connectionsMax: CONNECTIONS })
  const { adminExisted } = await bootstrapIdentity(db, {
    adminPassword: readSecret(directory, 'admin.password'),
    demoPassword: readSecret(directory, 'demo.password'),
  })
  return !adminExisted
}
