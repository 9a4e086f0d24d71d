import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { Lookup } from '#common/db/lookup.ts'
import { builder, statement } from '#common/db/statement.ts'
import { Failure } from '#common/errors.ts'
import { flavorAccess, flavors } from './schema/resources.ts'

/** Memory and swap in MiB, disks in GiB. */
export interface Flavor {
  readonly id: string
  readonly name: string
  readonly vcpus: number
  readonly memoryMb: number
  readonly rootGb: number
  readonly ephemeralGb: number
  readonly swapMb: number
  readonly rxtxFactor: number
  readonly isPublic: boolean
  readonly isDisabled: boolean
  readonly description: string | null
  readonly extraSpecs: Readonly<Record<string, string>>
  readonly createdAt: Date
  readonly updatedAt: Date | null
}

/** The viewer of flavors: one who sees all, or one who sees public ones and those shared with this project. */
export type FlavorVisibility = { readonly all: true } | { readonly projectId: string | null }

/** What to select so that `flavorOf` can read the row, from a prepared statement or a built one. */
export const FLAVOR_COLUMNS = {
  id: flavors.id,
  name: flavors.name,
  vcpus: flavors.vcpus,
  memory_mb: flavors.memoryMb,
  root_gb: flavors.rootGb,
  ephemeral_gb: flavors.ephemeralGb,
  swap_mb: flavors.swapMb,
  rxtx_factor: flavors.rxtxFactor,
  is_public: flavors.isPublic,
  is_disabled: flavors.isDisabled,
  description: flavors.description,
  extra_specs: flavors.extraSpecs,
  created_at: flavors.createdAt,
  updated_at: flavors.updatedAt,
} as const

/** Booleans are 0 and 1 where a prepared statement read them. */
interface FlavorRow {
  readonly id: string
  readonly name: string
  readonly vcpus: number
  readonly memory_mb: number
  readonly root_gb: number
  readonly ephemeral_gb: number
  readonly swap_mb: number
  readonly rxtx_factor: number
  readonly is_public: number | boolean
  readonly is_disabled: number | boolean
  readonly description: string | null
  readonly extra_specs: Readonly<Record<string, string>>
  readonly created_at: Date
  readonly updated_at: Date | null
}

/** Every boot looks for its flavor. */
const FLAVORS = new Lookup<FlavorRow>(
  (ids) =>
    builder
      .select(FLAVOR_COLUMNS)
      .from(flavors)
      .where(inArray(flavors.id, [...ids])),
  ({ id }) => id,
)

const ACCESS = statement(
  builder
    .select({ one: sql`1` })
    .from(flavorAccess)
    .where(
      and(
        eq(flavorAccess.flavorId, sql.placeholder('id')),
        eq(flavorAccess.projectId, sql.placeholder('projectId')),
      ),
    ),
)

/** The flavor, or undefined when there is none or it may not be seen. */
export async function findFlavor(
  db: Executor,
  id: string,
  visibility: FlavorVisibility,
): Promise<Flavor | undefined> {
  const row = await FLAVORS.one(db, id)
  if (row === undefined) return undefined
  const flavor = flavorOf(row)
  return flavor.isPublic || (await isPrivateSeen(db, id, visibility)) ? flavor : undefined
}

async function isPrivateSeen(
  db: Executor,
  id: string,
  visibility: FlavorVisibility,
): Promise<boolean> {
  if ('all' in visibility) return true
  const { projectId } = visibility
  return projectId !== null && (await db.rows(ACCESS, { id, projectId })).length > 0
}

export function flavorOf(row: FlavorRow): Flavor {
  return {
    id: row.id,
    name: row.name,
    vcpus: row.vcpus,
    memoryMb: row.memory_mb,
    rootGb: row.root_gb,
    ephemeralGb: row.ephemeral_gb,
    swapMb: row.swap_mb,
    rxtxFactor: row.rxtx_factor,
    isPublic: Boolean(row.is_public),
    isDisabled: Boolean(row.is_disabled),
    description: row.description,
    extraSpecs: row.extra_specs,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** The numbers of these flavors, by id; without those that are gone. */
export async function flavorNumbers(
  db: Executor,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await db.orm
    .select({ id: flavors.id, serial: flavors.serial })
    .from(flavors)
    .where(inArray(flavors.id, [...ids]))
  return new Map(rows.map(({ id, serial }) => [id, serial]))
}

/** Afterwards the flavor exists. Throws `conflict` when its id or its name is taken. */
export async function insertFlavor(db: Executor, flavor: Flavor): Promise<void> {
  try {
    await db.orm.insert(flavors).values(flavor)
  } catch (error) {
    if (isDuplicate(error, 'flavors_name'))
      throw new Failure('conflict', `Flavor with name ${flavor.name} already exists.`)
    if (isDuplicate(error))
      throw new Failure('conflict', `Flavor with ID ${flavor.id} already exists.`)
    throw error
  }
}

/** The flavor as this transaction has it. */
export async function readFlavor(tx: Tx, id: string): Promise<Flavor | undefined> {
  const [row] = await tx.orm.select(FLAVOR_COLUMNS).from(flavors).where(eq(flavors.id, id))
  return row && flavorOf(row)
}

/** Afterwards neither the flavor nor any access to it exists. False when there was none. */
export async function deleteFlavor(tx: Tx, id: string): Promise<boolean> {
  await tx.orm.delete(flavorAccess).where(eq(flavorAccess.flavorId, id))
  const [result] = await tx.orm.delete(flavors).where(eq(flavors.id, id))
  return result.affectedRows === 1
}

/** False when the flavor does not exist. */
export async function updateFlavorDescription(
  db: Executor,
  id: string,
  description: string | null,
): Promise<boolean> {
  return change(db, id, { description })
}

/** Adds, replaces and (null) removes extra specs in one statement, so that concurrent changes all stay. */
export async function mergeExtraSpecs(
  db: Executor,
  id: string,
  specs: Readonly<Record<string, string | null>>,
): Promise<boolean> {
  const merged = sql`json_merge_patch(${flavors.extraSpecs}, ${JSON.stringify(specs)})`
  return change(db, id, { extraSpecs: merged as SQL<Readonly<Record<string, string>>> })
}

async function change(
  db: Executor,
  id: string,
  values: {
    readonly description?: string | null
    readonly extraSpecs?: SQL<Readonly<Record<string, string>>>
  },
): Promise<boolean> {
  const [result] = await db.orm
    .update(flavors)
    .set({ ...values, updatedAt: sql`now(3)` })
    .where(eq(flavors.id, id))
  return result.affectedRows === 1
}
