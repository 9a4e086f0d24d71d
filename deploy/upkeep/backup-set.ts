import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'

/** What a backup of a whole deployment consists of, as the file `backup.json` in its folder has it. */
export interface BackupManifest {
  readonly weirBackupSet: typeof FORMAT
  readonly takenAt: string
  readonly databases: readonly BackedUpFile[]
  /** Digests of the contents of images, which are beside all sets in the folder `images`. */
  readonly images: readonly string[]
}

/** The file of one database. */
export interface BackedUpFile {
  readonly name: string
  readonly sha256: string
  readonly rows: number
}

/** A backup of a deployment in a directory with other such backups. */
export interface BackupSet {
  /** The time of the backup, as the name of its folder. */
  readonly name: string
  readonly manifest: BackupManifest
}

const FORMAT = 1
export const MANIFEST = 'backup.json'
export const IMAGES = 'images'
/** Ends the names of what is being made or removed. */
export const PART = '.part'
const NAME = /^\d{4}-\d\d-\d\dT\d{6}Z$/

/** True for the name of a set's folder. */
export function isSetName(name: string): boolean {
  return NAME.test(name)
}

/** The name of a backup's directory, such as `2026-11-24T020000Z`. */
export function setName(at: Date): string {
  return `${at.toISOString().slice(0, 19).replaceAll(':', '')}Z`
}

export function newManifest(
  takenAt: Date,
  databases: readonly BackedUpFile[],
  images: readonly string[],
): BackupManifest {
  return { weirBackupSet: FORMAT, takenAt: takenAt.toISOString(), databases, images }
}

/** Throws `invalid` for a text that is no manifest. */
export function parseManifest(text: string, where: string): BackupManifest {
  const value = parsed(text)
  if (value?.weirBackupSet === FORMAT) return value as BackupManifest
  throw new Failure('invalid', `${where} is no backup that this Weir reads.`)
}

/** The sets in a directory, the newest first. */
export function backupSets(directory: string): readonly BackupSet[] {
  if (!existsSync(directory)) return []
  const names = readdirSync(directory).filter(isSetName).toSorted().toReversed()
  return names.map((name) => {
    const file = join(directory, name, MANIFEST)
    if (!existsSync(file))
      throw new Failure('invalid', `${join(directory, name)} has no ${MANIFEST}.`)
    return { name, manifest: parseManifest(readFileSync(file, 'utf8'), file) }
  })
}

/** The set of this name, or the newest one. Throws `not-found`. */
export function findSet(directory: string, name?: string): BackupSet {
  const set = backupSets(directory).find((each) => name === undefined || each.name === name)
  if (set !== undefined) return set
  throw new Failure(
    'not-found',
    name === undefined
      ? `There is no backup in ${directory}. Make one: ./weir backup run --directory ${directory}`
      : `There is no backup ${name} in ${directory}.`,
  )
}

/** In hexadecimal. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

function parsed(text: string): Partial<BackupManifest> | undefined {
  try {
    return JSON.parse(text) as Partial<BackupManifest>
  } catch {
    return undefined
  }
}
