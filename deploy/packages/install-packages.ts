import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { programsDirectory } from '../paths.ts'
import { programPath } from '../process/find-program.ts'
import { missingPackages } from './missing-packages.ts'
import type { Purpose } from './packages.ts'
import { runTool } from './run-tool.ts'

const UPDATE_LIMIT_MS = 120_000
const INSTALL_LIMIT_MS = 600_000

/**
 * Afterwards no package of these purposes is missing. Throws `unavailable`, saying what to install, where this
 * cannot: on other systems than Debian's, or without root.
 */
export async function installPackages(
  purposes: readonly Purpose[],
  progress: (line: string) => void,
): Promise<void> {
  const missing = missingPackages(purposes)
  if (missing.length === 0) return
  const names = missing.map(({ name }) => name).join(' ')
  assertCanInstall(names)
  progress(`Installing ${names} ...`)
  await apt(['update', '-qq'], UPDATE_LIMIT_MS)
  const installed = missing.filter(({ isUnpacked }) => isUnpacked !== true)
  if (installed.length > 0)
    await apt(
      ['install', '-y', '-qq', '--no-install-recommends', ...installed.map(({ name }) => name)],
      INSTALL_LIMIT_MS,
    )
  for (const { name } of missing.filter(({ isUnpacked }) => isUnpacked)) await unpack(name)
  const left = missingPackages(purposes)
  if (left.length > 0)
    throw new Failure('unavailable', `Still missing: ${left.map(({ name }) => name).join(', ')}`)
}

function assertCanInstall(names: string): void {
  if (programPath('apt-get') === undefined)
    throw new Failure(
      'unavailable',
      `These Debian packages are missing, and this system has no apt-get: ${names}. Install their equivalents.`,
    )
  if (process.getuid?.() !== 0)
    throw new Failure(
      'unavailable',
      `Missing packages: ${names}. Run this as root once, or: sudo apt-get install --no-install-recommends ${names}`,
    )
}

async function apt(args: readonly string[], limitMs: number): Promise<void> {
  await runTool('apt-get', ['-o', 'DPkg::Lock::Timeout=300', ...args], { limitMs })
}

/** Afterwards the package's files lie below `.weir/programs`; no maintainer script has run. */
async function unpack(name: string): Promise<void> {
  mkdirSync(programsDirectory, { recursive: true })
  const scratch = mkdtempSync(join(programsDirectory, 'download-'))
  try {
    const limitMs = INSTALL_LIMIT_MS
    // As root apt drops to a user of its own, which may not write here.
    await runTool('apt-get', ['-o', 'APT::Sandbox::User=root', '-qq', 'download', name], {
      limitMs,
      directory: scratch,
    })
    const [deb] = readdirSync(scratch)
    if (deb === undefined) throw new Failure('unavailable', `apt-get downloaded no ${name}`)
    await runTool('dpkg-deb', ['-x', join(scratch, deb), programsDirectory], { limitMs })
  } finally {
    rmSync(scratch, { recursive: true })
  }
}
