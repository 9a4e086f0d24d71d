import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildOnce, type Recipe } from '../guest/build-once.ts'

export interface Ramdisk {
  readonly kernelPath: string
  readonly initrdPath: string
}

const RECIPE: Recipe = {
  name: 'ramdisk',
  script: fileURLToPath(new URL('build.sh', import.meta.url)),
  sourced: fileURLToPath(new URL('../guest/initrd.sh', import.meta.url)),
  argument: fileURLToPath(new URL('init', import.meta.url)),
}

/**
 * Builds what machines boot from the network to be inspected, written and cleaned, or finds it under `directory`. Needs
 * `RAMDISK_PACKAGES` and apt's package lists.
 */
export async function buildRamdisk(directory: string, signal?: AbortSignal): Promise<Ramdisk> {
  const folder = await buildOnce(RECIPE, directory, signal)
  return { kernelPath: join(folder, 'kernel'), initrdPath: join(folder, 'initrd.gz') }
}
