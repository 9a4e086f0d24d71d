import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readRelease } from '#common/release.ts'
import { runTool } from '../packages/run-tool.ts'
import { projectRoot } from '../paths.ts'
import { copyTree, normalizeTree, releaseTime } from '../release/tree.ts'

const LIMIT_MS = 600_000
const KIB = 1_024
const PROGRAM_MODE = 0o755
const LIBRARY = 'usr/lib/weir'
const UNITS = 'usr/lib/systemd/system'
const EXAMPLES = 'usr/share/weir/examples'
const DOCUMENTS = 'usr/share/doc/weir'
/** Of its own, as what runs as the units' user must not write what root reads. */
const DEPLOYMENT = 'var/lib/weir-deployment'
const PROSE = ['ARCHITECTURE.md', 'CHANGELOG.md', 'README.md', 'SECURITY.md', 'docs'] as const

/**
 * Afterwards `directory` has the Debian package of this checkout's release, whose path is returned. The same sources make
 * the same bytes: everything in it has the time of the last commit, or SOURCE_DATE_EPOCH.
 */
export async function buildDeb(directory: string): Promise<string> {
  const epochS = await releaseTime()
  const root = mkdtempSync(join(tmpdir(), 'weir-deb-'))
  try {
    await copyTree(join(root, LIBRARY))
    layFiles(root)
    normalizeTree(root, epochS)
    layControl(join(root, 'DEBIAN'), sizeOf(root))
    normalizeTree(join(root, 'DEBIAN'), epochS)
    mkdirSync(directory, { recursive: true })
    const file = join(directory, `weir_${readRelease()}_amd64.deb`)
    // The machine's usual compression takes a minute for Node alone.
    const options = ['--root-owner-group', '-Zzstd', '-z10']
    const epoch = `SOURCE_DATE_EPOCH=${epochS}`
    await runTool('env', [epoch, 'dpkg-deb', ...options, '--build', root, file], {
      limitMs: LIMIT_MS,
    })
    return file
  } finally {
    rmSync(root, { recursive: true })
  }
}

/** What is beside the programs. */
function layFiles(root: string): void {
  const put = (from: string, folder: string, name: string) => {
    mkdirSync(join(root, folder), { recursive: true })
    cpSync(from, join(root, folder, name), { recursive: true })
  }
  const own = (name: string) => join(import.meta.dirname, 'files', name)
  const units = join(projectRoot, 'deploy/systemd')
  for (const name of readdirSync(units).filter((each) => /\.(?:service|timer)$/.test(each)))
    put(join(units, name), UNITS, name)
  put(own('weir'), 'usr/bin', 'weir')
  chmodSync(join(root, 'usr/bin/weir'), PROGRAM_MODE)
  put(own('gateway.env'), 'etc/weir', 'gateway.env')
  mkdirSync(join(root, 'etc/weir/secrets'))
  for (const name of ['cell.env', 'compute.env']) put(own(name), EXAMPLES, name)
  for (const name of PROSE) put(join(projectRoot, name), DOCUMENTS, name)
  put(join(projectRoot, 'LICENSE'), DOCUMENTS, 'copyright')
  mkdirSync(join(root, DEPLOYMENT), { recursive: true })
  symlinkSync(`/${DEPLOYMENT}`, join(root, LIBRARY, '.weir'))
}

function layControl(directory: string, sizeKib: number): void {
  mkdirSync(directory)
  const from = join(import.meta.dirname, 'control')
  for (const name of readdirSync(from)) {
    const text = readFileSync(join(from, name), 'utf8')
      .replace('@VERSION@', readRelease())
      .replace('@SIZE@', String(sizeKib))
    const mode = text.startsWith('#!') ? PROGRAM_MODE : undefined
    writeFileSync(join(directory, name), text)
    if (mode !== undefined) chmodSync(join(directory, name), mode)
  }
}

/** Of the files, each rounded up, in KiB: what a disk holds differs between file systems. */
function sizeOf(root: string): number {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => Math.ceil(statSync(join(parentPath, name)).size / KIB))
    .reduce((sum, kib) => sum + kib, 0)
}
