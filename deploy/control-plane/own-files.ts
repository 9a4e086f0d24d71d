import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import type { Folders } from './control-plane.ts'

/** Of the programs that run as services. */
const SERVICE_USER = 'weir'
const MODES = { shared: 0o640, own: 0o600 } as const
const ROOT = 0

/** The ids of the services' user; undefined where there is none, or this process may not give files away. */
interface ServiceUser {
  readonly uid: number
  readonly gid: number
}

/** Writes files that services read, and never over one that is there. */
export class OwnFiles {
  readonly #folders: Folders
  readonly #user: ServiceUser | undefined
  readonly #report: (line: string) => void

  /** Makes the folders. Calls `report` for each file that is made or kept. */
  constructor(folders: Folders, report: (line: string) => void) {
    this.#folders = folders
    this.#report = report
    this.#user = process.getuid?.() === ROOT ? serviceUser() : undefined
    this.#makeFolder(folders.directory, ROOT)
    this.#makeFolder(folders.state, this.#user?.uid ?? ROOT)
  }

  /** True where the services' user can read what this writes. */
  get hasUser(): boolean {
    return this.#user !== undefined
  }

  /** Afterwards the file is there, in the folder of settings: with this content if it was not, or was the example. Returns its path. */
  async settings(
    name: string,
    content: () => string | Promise<string>,
    example?: string,
  ): Promise<string> {
    const path = join(this.#folders.directory, name)
    // The example of a package has no settings of an operator, and is replaced.
    if (existsSync(path) && readFileSync(path, 'utf8') === example) rmSync(path)
    return this.#keep(path, content, ROOT)
  }

  /** The same in the folder of data, where its program may replace it. */
  async state(name: string, content: () => string | Promise<string>): Promise<string> {
    return this.#keep(join(this.#folders.state, name), content, this.#user?.uid ?? ROOT)
  }

  /** Afterwards there is a folder of data with this name, for the services. */
  stateFolder(name: string): string {
    const path = join(this.#folders.state, name)
    this.#makeFolder(path, this.#user?.uid ?? ROOT)
    return path
  }

  /** Afterwards files of settings that something else makes are there, and can be read by the services. */
  async adopt(names: readonly string[], make: () => Promise<void> | void): Promise<void> {
    const paths = names.map((name) => join(this.#folders.directory, name))
    const missing = paths.filter((path) => !existsSync(path))
    if (missing.length > 0) await make()
    for (const path of paths) {
      const isNew = missing.includes(path)
      if (isNew && this.#user !== undefined) {
        chmodSync(path, MODES.shared)
        chownSync(path, ROOT, this.#user.gid)
      }
      this.#report(`${isNew ? 'made' : 'kept'}  ${path}`)
    }
  }

  async #keep(
    path: string,
    content: () => string | Promise<string>,
    owner: number,
  ): Promise<string> {
    if (existsSync(path)) {
      this.#report(`kept  ${path}`)
      return path
    }
    const user = this.#user
    try {
      writeFileAtomically(path, await content(), user === undefined ? MODES.own : MODES.shared)
      if (user !== undefined) chownSync(path, owner, user.gid)
    } catch (cause) {
      throw new Failure('forbidden', `${path} cannot be written.`, { cause })
    }
    this.#report(`made  ${path}`)
    return path
  }

  #makeFolder(path: string, owner: number): void {
    try {
      mkdirSync(path, { recursive: true, mode: 0o750 })
      if (this.#user !== undefined) chownSync(path, owner, this.#user.gid)
    } catch (cause) {
      throw new Failure(
        'forbidden',
        `${path} cannot be made. Run this as root, or name directories of your own with --directory and --state-directory.`,
        { cause },
      )
    }
  }
}

function serviceUser(): ServiceUser | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${SERVICE_USER}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}
