import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { runTool } from '#deploy/packages/run-tool.ts'
import { compiledDirectory } from '#deploy/paths.ts'

const SOURCE = 'deb http://deb.debian.org/debian trixie main\n'
const LIMIT_MS = 300_000

/**
 * The root of a folder with the files of these packages of Debian 13, for programs that Debian 12 has too old: only what
 * no Python extension is in. Nothing of the machine's own apt is used or changed. They are fetched once.
 */
export async function debian13(names: readonly string[]): Promise<string> {
  const root = join(compiledDirectory, 'debian-13', names.join('+'))
  if (existsSync(root)) return root
  mkdirSync(join(root, '..'), { recursive: true })
  const scratch = mkdtempSync(`${root}-`)
  try {
    for (const folder of ['lists/partial', 'cache/archives/partial', 'debs'])
      mkdirSync(join(scratch, folder), { recursive: true })
    writeFileSync(join(scratch, 'sources.list'), SOURCE)
    writeFileSync(join(scratch, 'status'), '')
    const apt = (...args: readonly string[]) =>
      runTool('apt-get', [...optionsIn(scratch), '-qq', ...args], {
        limitMs: LIMIT_MS,
        directory: join(scratch, 'debs'),
      })
    await apt('update')
    await apt('download', ...names)
    const files = join(scratch, 'files')
    for (const deb of readdirSync(join(scratch, 'debs')))
      await runTool('dpkg-deb', ['-x', join(scratch, 'debs', deb), files], { limitMs: LIMIT_MS })
    renameSync(files, root)
    return root
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

function optionsIn(folder: string): readonly string[] {
  const options = {
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '/nonexistent',
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': join(folder, 'cache'),
    'Acquire::Languages': 'none',
    // As root apt drops to a user of its own, which may not write here.
    'APT::Sandbox::User': 'root',
  }
  return Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
}
