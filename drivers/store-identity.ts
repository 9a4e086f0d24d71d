import { randomUUID } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { ifAbsent } from '#common/if-absent.ts'

/** Where the identity of a store lies in its folder. */
export const IDENTITY_FILE = '.weir-store'

/**
 * The identity of the store whose volumes are in this folder. The first host that finds none gives it one, for all
 * hosts that reach the folder; of two that do so at once, both get the same. `before`: what it was when this host found
 * one last. A folder that had one and has none is not the store, such as one where nothing is mounted: it throws
 * `conflict`.
 */
export async function storeIdentity(folder: string, before?: string): Promise<string> {
  const path = join(folder, IDENTITY_FILE)
  const known = await readIdentity(path)
  if (known !== undefined) return known
  if (before !== undefined)
    throw new Failure('conflict', `${path}, with the identity of store ${before}, is gone.`)
  const own = `${path}-${randomUUID()}`
  try {
    await writeFile(own, `${randomUUID()}\n`, { flush: true })
    // A link is made whole or not at all, and never in place of another.
    await link(own, path).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    })
  } finally {
    await rm(own, { force: true })
  }
  return (await readIdentity(path))!
}

async function readIdentity(path: string): Promise<string | undefined> {
  const text = (await readFile(path, 'utf8').catch(ifAbsent(undefined)))?.trim()
  if (text === undefined || isUuid(text)) return text
  throw new Error(`${path} does not hold the identity of a store.`)
}
