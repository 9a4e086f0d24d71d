import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { InstanceId } from '#common/ids.ts'
import { ifAbsent } from '#common/if-absent.ts'
import type { FlavorSpec } from '../driver.ts'

export type DiskSizes = Pick<FlavorSpec, 'rootGb' | 'ephemeralGb'>

/** What instances have been promised of disk: the engine does not remember it, and a flavor can change. */
export class DiskSizesFile {
  readonly #folder: string

  constructor(stateDirectory: string) {
    this.#folder = join(stateDirectory, 'disk-sizes')
  }

  async write(id: InstanceId, { rootGb, ephemeralGb }: DiskSizes): Promise<void> {
    await mkdir(this.#folder, { recursive: true })
    const partial = `${this.#path(id)}.part`
    await writeFile(partial, JSON.stringify({ rootGb, ephemeralGb }))
    await rename(partial, this.#path(id))
  }

  /** None for an instance that was never written. */
  async read(id: InstanceId): Promise<DiskSizes> {
    const text = await readFile(this.#path(id), 'utf8').catch(ifAbsent(undefined))
    return text === undefined ? { rootGb: 0, ephemeralGb: 0 } : (JSON.parse(text) as DiskSizes)
  }

  async remove(id: InstanceId): Promise<void> {
    await rm(this.#path(id), { force: true })
  }

  #path(id: InstanceId): string {
    return join(this.#folder, `${id}.json`)
  }
}
