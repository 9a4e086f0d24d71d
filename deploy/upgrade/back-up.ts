import { join } from 'node:path'
import type { BackedUp } from '../upkeep/backup-file.ts'
import { lockBackups } from '../upkeep/lock-backups.ts'
import { writeBackupSet } from '../upkeep/write-backup-set.ts'

/** Afterwards the directory has a verified backup of the databases. Images are left out: an upgrade does not change them. */
export async function backUp(
  directory: string,
  databases: readonly BackedUp[],
  report: (line: string) => void,
): Promise<void> {
  if (databases.length === 0) return
  report('Backing up the databases ...')
  using _lock = lockBackups(directory)
  const set = await writeBackupSet(directory, { databases, store: undefined }, new Date())
  report(`${join(directory, set.name)} holds the databases, and was verified.`)
}
