import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { type InstanceId, isUuid } from '#common/ids.ts'

/** The record of an instance: the objects created for it below, and whether its server was requested. */
export interface InstanceRecord {
  readonly version: 1
  readonly projectId: string
  /** Sent with the request to create, so that a cloud that knows it creates once. */
  readonly key: string
  /** When the server was last asked for, in epoch milliseconds; null: never. */
  readonly sentAt: number | null
  /** Of the server below, once known. */
  readonly serverId: string | null
  /** It came up: an error since is none of its making. */
  readonly hasRun: boolean
  /** The server existed before it was adopted: names and labels that others gave it stay. */
  readonly isAdopted?: true
  /** The ids of ports here: names of the objects below are made from them. */
  readonly portIds: readonly string[]
  readonly networkIds: readonly string[]
  /** Security groups that its ports have had, and those that their rules name. */
  readonly groupIds: readonly string[]
  readonly keypair: string | null
}

/** The records of a host, on disk before what they name exists, and in memory. */
export class Records {
  readonly #folder: string
  readonly #projectFile: string
  readonly #records = new Map<InstanceId, InstanceRecord>()
  readonly #leaving = new Set<InstanceId>()

  private constructor(stateDirectory: string) {
    this.#folder = join(stateDirectory, 'instances')
    this.#projectFile = join(stateDirectory, 'project')
  }

  static async open(stateDirectory: string): Promise<Records> {
    const records = new Records(stateDirectory)
    await mkdir(records.#folder, { recursive: true, mode: 0o700 })
    for (const name of await readdir(records.#folder)) {
      const id = name.replace(/\.json$/, '')
      if (!isUuid(id)) continue
      const text = await readFile(join(records.#folder, name), 'utf8')
      records.#records.set(id as InstanceId, JSON.parse(text) as InstanceRecord)
    }
    return records
  }

  /**
   * Afterwards this project below is the one that has the host's servers, for every later login. Throws `unavailable`
   * for another project: there all servers would seem to be missing, and would be created again.
   */
  async stayIn(projectId: string): Promise<void> {
    const home = await readFile(this.#projectFile, 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      return undefined
    })
    if (home === projectId) return
    if (home === undefined) return writeDurably(this.#projectFile, projectId)
    throw new Failure(
      'unavailable',
      'The credential of this host is for a project other than that of its servers in the nested cloud.',
      { detail: `it is for project ${projectId}, and they are in ${home}` },
    )
  }

  get(id: InstanceId): InstanceRecord | undefined {
    return this.#records.get(id)
  }

  all(): readonly (readonly [InstanceId, InstanceRecord])[] {
    return [...this.#records]
  }

  /** Of every instance that has a use for what its record names, but one. */
  others(id: InstanceId): readonly InstanceRecord[] {
    return [...this.#records]
      .filter(([other]) => other !== id && !this.#leaving.has(other))
      .map(([, record]) => record)
  }

  /**
   * Its server and ports are gone, so what else its record names is kept for others alone: of instances that are removed at
   * once, each would else leave to the next what they shared. Until the record is written again.
   */
  leave(id: InstanceId): void {
    this.#leaving.add(id)
  }

  /** Afterwards the record is on disk, whole. */
  async write(id: InstanceId, record: InstanceRecord): Promise<void> {
    await writeDurably(this.#path(id), JSON.stringify(record))
    this.#records.set(id, record)
    this.#leaving.delete(id)
  }

  async remove(id: InstanceId): Promise<void> {
    await rm(this.#path(id), { force: true })
    this.#records.delete(id)
    this.#leaving.delete(id)
  }

  #path(id: InstanceId): string {
    return join(this.#folder, `${id}.json`)
  }
}

/** Afterwards the file is on disk, whole: a rename is once its folder is. */
export async function writeDurably(path: string, content: string): Promise<void> {
  const partial = `${path}.part`
  const file = await open(partial, 'w', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(partial, path)
  const folder = await open(dirname(path))
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
