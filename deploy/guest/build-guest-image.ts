import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '#drivers/run.ts'

export interface GuestImage {
  /** The disk, qcow2. */
  readonly path: string
  readonly sha256: string
  readonly sizeBytes: number
  /** The kernel in it, which also serves to probe whether KVM really runs guests. */
  readonly kernelPath: string
}

/** Mostly the download of one package of some 10 MB. */
const BUILD_TIMEOUT_MS = 300_000
const RECIPE = ['build.sh', 'init'] as const

/**
 * Builds the tiny Linux guest under `directory`, or finds it there: a change of the recipe makes a new one. Needs
 * `GUEST_PACKAGES` and apt's package lists. Two builds at once end with one image.
 */
export async function buildGuestImage(
  directory: string,
  signal?: AbortSignal,
): Promise<GuestImage> {
  const folder = await folderIn(directory)
  if (!(await exists(folder))) await build(directory, folder, signal)
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
  return kernelIn(await folderIn(directory))
}

async function folderIn(directory: string): Promise<string> {
  return join(directory, `guest-${await recipeHash()}`)
}

function kernelIn(folder: string): string {
  return join(folder, 'vmlinuz')
}

async function build(directory: string, folder: string, signal?: AbortSignal): Promise<void> {
  await mkdir(directory, { recursive: true })
  const partial = await mkdtemp(join(directory, 'guest-build-'))
  try {
    await run('sh', [recipePath('build.sh'), recipePath('init')], {
      cwd: partial,
      timeoutMs: BUILD_TIMEOUT_MS,
      ...(signal === undefined ? {} : { signal }),
    })
    await rename(partial, folder).catch(async (error: unknown) => {
      if (!(await exists(folder))) throw error // Otherwise another build was first.
    })
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}

async function recipeHash(): Promise<string> {
  const hash = createHash('sha256')
  for (const name of RECIPE) hash.update(await readFile(recipePath(name)))
  return hash.digest('hex').slice(0, 16)
}

function recipePath(name: (typeof RECIPE)[number]): string {
  return fileURLToPath(new URL(name, import.meta.url))
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
