import { Failure, isFailure } from '#common/errors.ts'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { projectOf } from '#drivers/nested/verify/verify-cloud.ts'
import type { Layout } from '../deployment/layout.ts'
import type { CellRecord } from '../deployment/state.ts'
import { cloudSettings } from './cloud-login.ts'

type Texts = Readonly<Record<string, string>>

/** The project that a login is for, by its id in the cloud that the settings name. */
export function projectFor(settings: Texts, login: Texts): Promise<string> {
  return projectOf(nestedSettings({ ...settings, ...login }))
}

/**
 * Throws `conflict` when the login is for another project than the one that the cell's servers are in: they would be lost
 * sight of, and go on there.
 */
export async function refuseOtherProject(
  layout: Layout,
  cell: CellRecord,
  login: Texts,
): Promise<void> {
  if (cell.cloud === undefined) return
  const known = cell.cloud.projectId ?? (await formerProject(layout, cell))
  if (known === undefined) return
  const given = await projectFor(cell.cloud.settings, login)
  if (given === known) return
  throw new Failure(
    'conflict',
    `The credential is for project ${given}, and the servers of cell ${cell.name} are in project ${known}. Give one for ${known}, or let ${given} be another cell: ./weir cell join NAME --driver nested --cloud CLOUD`,
  )
}

/** The project of the stored login; undefined if that login fails now. */
async function formerProject(layout: Layout, cell: CellRecord): Promise<string | undefined> {
  const settings = cloudSettings(layout, cell)
  if (settings === undefined) return undefined
  try {
    return await projectFor(settings, {})
  } catch (error) {
    if (isFailure(error)) return undefined
    throw error
  }
}
