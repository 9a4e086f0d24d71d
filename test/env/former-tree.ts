import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from '#deploy/paths.ts'

const MIGRATIONS = ['gateway/db/migrations/*.sql', 'cells/db/migrations/*.sql']
const LOCK = 'package-lock.json'
const ARCHIVE_BYTES_MAX = 256 * 1_048_576

/** This project as of an earlier commit, in a folder of its own. Disposing it removes the folder. */
export class FormerTree implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'weir-former-'))

  /** `weir` installs the packages that a commit had other versions of. */
  static lay(commit: string): FormerTree {
    const tree = new FormerTree()
    const archive = git('archive', '--format=tar', commit)
    execFileSync('tar', ['-x', '-C', tree.directory], { input: archive })
    const lockOf = (root: string) => readFileSync(join(root, LOCK), 'utf8')
    if (lockOf(tree.directory) === lockOf(projectRoot))
      symlinkSync(join(projectRoot, 'node_modules'), join(tree.directory, 'node_modules'))
    return tree
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** The commit before the newest one with a new migration; undefined without a git history. */
export function beforeNewestMigration(): string | undefined {
  if (!existsSync(join(projectRoot, '.git'))) return undefined
  const added = git('log', '--diff-filter=A', '--format=%H', '-1', '--', ...MIGRATIONS)
  const commit = added.toString().trim()
  return commit === '' ? undefined : `${commit}^`
}

function git(...args: readonly string[]): Buffer {
  return execFileSync('git', args, { cwd: projectRoot, maxBuffer: ARCHIVE_BYTES_MAX })
}
