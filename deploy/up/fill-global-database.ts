import { readFileSync } from 'node:fs'
import { Database } from '#common/db/database.ts'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'

const CONNECTIONS = 2

/** Afterwards there are the users of clouds.yaml, with their roles and projects. Existing ones are left alone. */
export async function makeUsers(layout: Layout, databaseUrlFile: string): Promise<void> {
  const url = readFileSync(databaseUrlFile, 'utf8')
  await using db = new Database({ url, connectionsMax: CONNECTIONS })
  await bootstrapIdentity(db, {
    adminPassword: cloudAccount(layout, 'weir-admin').password,
    demoPassword: cloudAccount(layout, 'weir').password,
  })
}
