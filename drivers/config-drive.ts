import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { Failure } from '#common/errors.ts'
import { run } from './run.ts'

const TIMEOUT_MS = 30_000
const FILES_MAX = 200
/** Nova's config drives are 64 MiB at most. */
const BYTES_MAX = 64 * 1024 * 1024
/** What cloud-init and other guests look for. */
const VOLUME_LABEL = 'config-2'

/** Afterwards `path` is an ISO 9660 image that holds exactly these files. */
export async function writeConfigDrive(
  path: string,
  files: Readonly<Record<string, Uint8Array>>,
  signal: AbortSignal,
): Promise<void> {
  checkFiles(files)
  // Beside the image, so that what a crash leaves goes with the instance.
  const folder = await mkdtemp(`${path}-`)
  try {
    for (const [name, content] of Object.entries(files)) {
      const target = join(folder, name)
      await mkdir(dirname(target), { recursive: true })
      await writeFile(target, content, { flag: 'wx' })
    }
    const args = ['-quiet', '-o', path, '-V', VOLUME_LABEL, '-r', '-J', folder]
    await run('genisoimage', args, { timeoutMs: TIMEOUT_MS, signal })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function checkFiles(files: Readonly<Record<string, Uint8Array>>): void {
  const entries = Object.entries(files)
  const bytes = entries.reduce((sum, [, content]) => sum + content.length, 0)
  if (entries.length > FILES_MAX || bytes > BYTES_MAX)
    throw new Failure('invalid', 'The config drive is too large.')
  for (const [name] of entries) {
    const inside = name === normalize(name) && !name.startsWith('/') && !name.startsWith('..')
    if (!inside || name.includes('\0') || name === '' || name.endsWith('/'))
      throw new Failure('invalid', 'The config drive has a file with a name that is not allowed.')
  }
}
