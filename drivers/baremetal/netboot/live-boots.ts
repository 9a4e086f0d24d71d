import { randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { InstanceId } from '#common/ids.ts'
import { ifAbsent } from '#common/if-absent.ts'

export const LIVE_FILES = ['kernel', 'ramdisk', 'iso'] as const
export type LiveFile = (typeof LIVE_FILES)[number]

/** The boot files of a server's machine at every start, instead of its disk: a kernel, maybe with a ramdisk, or a CD. */
export interface LiveBoot {
  /** By path. */
  readonly files: Readonly<Partial<Record<LiveFile, string>>>
  readonly commandLine: string
}

export interface KeptBoot extends LiveBoot {
  /** What its files are served under, so that only its machine finds them. */
  readonly token: string
}

const TOKEN_BYTES = 24
const MAIN = 'boot.json'

/** The boot files of servers without a disk, kept while these have machines. */
export class LiveBoots {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Afterwards the server boots from these files, even if the originals are deleted. */
  async keep(id: InstanceId, { files, commandLine }: LiveBoot): Promise<void> {
    await this.remove(id)
    const folder = this.#folderOf(id)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const kept: Partial<Record<LiveFile, string>> = {}
    for (const name of LIVE_FILES) {
      const path = files[name]
      if (path === undefined) continue
      kept[name] = join(folder, name)
      await link(path, join(folder, name))
    }
    const token = randomBytes(TOKEN_BYTES).toString('hex')
    const boot: KeptBoot = { files: kept, commandLine, token }
    const partial = join(folder, `${MAIN}.part`)
    await writeFile(partial, JSON.stringify(boot), { mode: 0o600, flush: true })
    await rename(partial, join(folder, MAIN))
  }

  /** Undefined for a server that boots from its disk. */
  async find(id: InstanceId): Promise<KeptBoot | undefined> {
    const text = await readFile(join(this.#folderOf(id), MAIN), 'utf8').catch(ifAbsent(undefined))
    return text === undefined ? undefined : (JSON.parse(text) as KeptBoot)
  }

  /** Afterwards nothing of the live boot is left. */
  async remove(id: InstanceId): Promise<void> {
    await rm(this.#folderOf(id), { recursive: true, force: true })
  }

  #folderOf(id: InstanceId): string {
    return join(this.#folder, id)
  }
}
