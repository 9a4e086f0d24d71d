import { createHash } from 'node:crypto'
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '#drivers/run.ts'

/** A shell script, the file that it sources, and the one file that it is given; it builds in the folder it is started in. */
export interface Recipe {
  readonly name: string
  readonly script: string
  readonly sourced: string
  readonly argument: string
}

/** Mostly the download of one package of up to 70 MB. */
const BUILD_TIMEOUT_MS = 300_000

/** The folder with what the recipe makes, built or found there. Two builds at once end with one folder. */
export async function buildOnce(
  recipe: Recipe,
  directory: string,
  signal?: AbortSignal,
): Promise<string> {
  const folder = await folderOf(recipe, directory)
  if (!(await exists(folder))) await build(recipe, directory, folder, signal)
  return folder
}

/** The folder that `buildOnce` returns, whether it is there yet or not: a change of the recipe makes another. */
export async function folderOf(recipe: Recipe, directory: string): Promise<string> {
  const hash = createHash('sha256')
  for (const path of [recipe.script, recipe.sourced, recipe.argument])
    hash.update(await readFile(path))
  return join(directory, `${recipe.name}-${hash.digest('hex').slice(0, 16)}`)
}

async function build(
  { name, script, argument }: Recipe,
  directory: string,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  await mkdir(directory, { recursive: true })
  const partial = await mkdtemp(join(directory, `${name}-build-`))
  try {
    await run('sh', [script, argument], {
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

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
