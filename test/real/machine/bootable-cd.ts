import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '#drivers/run.ts'
import { echoDisk } from './echo-disk.ts'

/** Boots what an echoing disk boots. */
export async function bootableCd(): Promise<Buffer> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'weir-cd-'))
  const [files, cd] = [join(folder.path, 'files'), join(folder.path, 'cd.iso')]
  await mkdir(files)
  await writeFile(join(files, 'boot'), Buffer.concat([echoDisk(), Buffer.alloc(1536)]))
  const boot = ['-b', 'boot', '-c', 'catalog', '-no-emul-boot', '-boot-load-size', '4']
  await run('genisoimage', ['-quiet', '-o', cd, ...boot, files], { timeoutMs: 20_000 })
  return readFile(cd)
}
