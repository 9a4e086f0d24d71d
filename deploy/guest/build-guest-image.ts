import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildOnce, folderOf, type Recipe } from './build-once.ts'

export interface GuestImage {
  /** The disk, qcow2. */
  readonly path: string
  readonly sha256: string
  readonly sizeBytes: number
  /** The kernel in it, which also serves to probe whether KVM really runs guests. */
  readonly kernelPath: string
}

const RECIPE: Recipe = {
  name: 'guest',
  script: fileURLToPath(new URL('build.sh', import.meta.url)),
  sourced: fileURLToPath(new URL('initrd.sh', import.meta.url)),
  argument: fileURLToPath(new URL('init', import.meta.url)),
}

/**
 * Builds the tiny Linux guest under `directory`, or finds it there: a change of the recipe makes a new one. Needs
 * `GUEST_PACKAGES` and apt's package lists. Two builds at once end with one image.
 */
export async function buildGuestImage(
  directory: string,
  signal?: AbortSignal,
): Promise<GuestImage> {
  const folder = await buildOnce(RECIPE, directory, signal)
  const path = join(folder, 'guest.qcow2')
  const { size } = await stat(path)
  return {
    path,
    sha256: await sha256Of(path),
    sizeBytes: size,
    kernelPath: kernelIn(folder),
  }
}

/** Where `buildGuestImage` leaves the guest's kernel, whether it is there yet or not. */
export async function builtKernel(directory: string): Promise<string> {
  return kernelIn(await folderOf(RECIPE, directory))
}

function kernelIn(folder: string): string {
  return join(folder, 'vmlinuz')
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
