import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import { secretsOf } from '#common/secrets.ts'
import { registerCell } from '#gateway/app/cells/register-cell.ts'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { sealedAccount } from '#gateway/cell-client/cell-access.ts'
import { insertCellAccount } from '#gateway/db/cell-accounts.ts'
import type { Account } from '../api/client.ts'
import { type FreshBus, freshBus } from '../fresh-bus.ts'
import { migratedDatabase } from '../migrated-database.ts'
import { type TestServices, testServices } from '../services.ts'
import { addAccount, randomPassword } from './add-account.ts'
import type { CloudOptions } from './options.ts'

export interface HostPlan {
  readonly id: string
  readonly name: string
}

export interface CellPlan {
  readonly id: CellId
  readonly name: string
  readonly databaseUrl: string
  readonly secretKey: string
  readonly hosts: readonly HostPlan[]
}

/**
 * `admin` and `demo` as the launcher makes them; `auditor` may only read in demo's project, `stranger` is a member of
 * another one.
 */
export type AccountName = 'admin' | 'demo' | 'auditor' | 'stranger'

/** The services below the programs of a cloud. */
export interface Foundation {
  readonly services: TestServices
  /** Scratch space of this cloud. */
  readonly directory: string
  readonly databaseUrl: string
  readonly bus: FreshBus
  readonly cells: readonly CellPlan[]
  readonly secretKey: string
  readonly accounts: Readonly<Record<AccountName, Account>>
}

const CELL_NAMES = ['north', 'south', 'east', 'west'] as const
const CONNECTIONS = 2
const KEY_BYTES = 32

/** Afterwards there are migrated databases, a bus that knows the cells, and the accounts. */
export async function layFoundation(options: CloudOptions): Promise<Foundation> {
  const services = options.services ?? (await testServices())
  const names = CELL_NAMES.slice(0, options.cells ?? 2)
  const cells = await Promise.all(
    names.map(async (name) => ({
      id: newId<CellId>(),
      name,
      databaseUrl: await migratedDatabase(`cell_${name}`, 'cells', services),
      secretKey: randomKey(),
      hosts: Array.from({ length: options.hostsPerCell ?? 2 }, (_, index) => {
        return { id: randomUUID(), name: `${name}-${index + 1}` }
      }),
    })),
  )
  const databaseUrl = await migratedDatabase('weir', 'gateway', services)
  const passwords = { adminPassword: randomPassword(), demoPassword: randomPassword() }
  await using db = new Database({ url: databaseUrl, connectionsMax: CONNECTIONS })
  await bootstrapIdentity(db, passwords)
  const bus = await freshBus(
    cells.map(({ id }) => id),
    services,
  )
  const secretKey = randomKey()
  for (const { id, name } of cells) {
    await registerCell(db, { id, name })
    await insertCellAccount(db, sealedAccount(secretsOf(secretKey), id, bus.account(id)))
  }
  const { adminPassword, demoPassword } = passwords
  return {
    services,
    directory: mkdtempSync(join(services.directory, 'cloud-')),
    databaseUrl,
    bus,
    cells,
    secretKey,
    accounts: {
      admin: { user: 'admin', password: adminPassword, project: 'admin' },
      demo: { user: 'demo', password: demoPassword, project: 'demo' },
      auditor: await addAccount(db, { user: 'auditor', project: 'demo', role: 'reader' }),
      stranger: await addAccount(db, { user: 'stranger', project: 'elsewhere', role: 'member' }),
    },
  }
}

function randomKey(): string {
  return randomBytes(KEY_BYTES).toString('hex')
}
