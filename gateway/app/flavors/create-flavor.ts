import { randomUUID } from 'node:crypto'
import type { Executor } from '#common/db/database.ts'
import { type Flavor, insertFlavor } from '../../db/flavors.ts'

/** Memory and swap in MiB, disks in GiB. */
export interface NewFlavor {
  readonly id: string | null
  readonly name: string
  readonly vcpus: number
  readonly memoryMb: number
  readonly rootGb: number
  readonly ephemeralGb: number
  readonly swapMb: number
  readonly rxtxFactor: number
  readonly isPublic: boolean
  readonly description: string | null
}

/**
 * Afterwards the flavor exists, under a UUID where no id was chosen. One that is not public is given to no project,
 * not even the creator's. Throws `conflict` when its id or name is taken.
 */
export async function createFlavor(db: Executor, given: NewFlavor): Promise<Flavor> {
  const flavor: Flavor = {
    ...given,
    id: given.id ?? randomUUID(),
    isDisabled: false,
    extraSpecs: {},
    createdAt: new Date(),
    updatedAt: null,
  }
  await insertFlavor(db, flavor)
  return flavor
}
