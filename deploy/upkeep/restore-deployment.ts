import { join } from 'node:path'
import { withDatabase } from '#common/db/database-url.ts'
import { Failure } from '#common/errors.ts'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, existingState } from '../deployment/state.ts'
import { isRunning } from '../process/process-identity.ts'
import { stopProcess } from '../process/stop-process.ts'
import { cellDatabase } from '../up/prepare-databases.ts'
import { startServices, writerOf } from '../up/services.ts'
import { bringUp } from '../up/up.ts'
import { type BackedUp, type BackupSubject, type OpenBackup, openBackup } from './backup-file.ts'
import { assertRestorable, restoreBackup } from './restore-backup.ts'

const GRACE_MS = 15_000

/** The database that a name stands for in backups: the global one, or that of a cell. Throws `not-found`. */
export function backupSubject(state: DeploymentState, name: string): BackupSubject {
  if (name === 'gateway' && state.gateways.length > 0) return { kind: 'gateway' }
  const cell = state.cells.find((each) => each.name === name)
  if (cell !== undefined) return { kind: 'cell', id: cell.id, name }
  const own = state.gateways.length > 0 ? ['gateway'] : []
  const names = [...own, ...state.cells.map((each) => each.name)]
  throw new Failure(
    'not-found',
    `There is no database of ${name} here. There are: ${names.join(', ')}`,
  )
}

/** The URL of its database, and the key of its sealed secrets. */
export function databaseOf(
  layout: Layout,
  of: BackupSubject,
): Pick<BackedUp, 'keyFile'> & { readonly database: string } {
  const key = of.kind === 'gateway' ? 'gateway.key' : `cell-${of.name}.key`
  const database = of.kind === 'gateway' ? 'weir' : cellDatabase(of.name)
  return { database, keyFile: join(layout.secrets, key) }
}

/**
 * Afterwards the databases are as in the files, and the deployment runs. What uses the databases is stopped first. Throws
 * `conflict` for the backup of another cell, before anything is stopped.
 */
export async function restoreDeployment(
  layout: Layout,
  files: readonly string[],
  progress: (line: string) => void,
): Promise<void> {
  const state = existingState(layout)
  const backups: OpenBackup[] = []
  for (const file of files) {
    const backup = await openBackup(file)
    assertOwn(layout, state, backup)
    backups.push(backup)
  }
  for (const { header } of backups) await stopUsers(state, header.of, progress)
  const { databases } = await startServices(layout, state, progress)
  const writer = await writerOf(databases)
  const rootUrl = (name = '') => withDatabase(writer, name)
  for (const backup of backups) {
    const { of, takenAt } = backup.header
    progress(`Restoring the database of ${nameOf(of)} as of ${takenAt} ...`)
    await restoreBackup(backup, { rootUrl, ...databaseOf(layout, of) })
  }
  await bringUp(layout, {}, progress)
}

function nameOf(of: BackupSubject): string {
  return of.kind === 'gateway' ? 'gateway' : of.name
}

function assertOwn(layout: Layout, state: DeploymentState, backup: OpenBackup): void {
  const { of } = backup.header
  const name = nameOf(of)
  const here = backupSubject(state, name)
  if (of.kind === 'cell' && here.kind === 'cell' && of.id !== here.id)
    throw new Failure('conflict', `The backup is of another cell that was called ${name}.`)
  assertRestorable(backup, databaseOf(layout, of).keyFile)
}

async function stopUsers(
  { processes }: DeploymentState,
  of: BackupSubject,
  progress: (line: string) => void,
): Promise<void> {
  const users = Object.entries(processes).filter(([program]) =>
    of.kind === 'gateway' ? program.startsWith('gateway-') : program === `cell-${of.name}`,
  )
  for (const [program, identity] of users) {
    if (!isRunning(identity)) continue
    progress(`Stopping ${program} ...`)
    await stopProcess(identity, GRACE_MS)
  }
}
