import { readdirSync, readFileSync } from 'node:fs'

export interface ListedProcess {
  readonly pid: number
  /** The name of its program, 15 characters at most. */
  readonly name: string
  readonly parent: number
}

/** All processes of this machine that run now. */
export function listProcesses(): readonly ListedProcess[] {
  return readdirSync('/proc').flatMap((name) => entryOf(Number(name)))
}

/** A process and everything it started, as far as it runs; empty when it does not. */
export function processTree(root: number, all = listProcesses()): readonly ListedProcess[] {
  const tree = all.filter(({ pid }) => pid === root)
  for (let next = 0; next < tree.length; next += 1)
    tree.push(...all.filter(({ parent }) => parent === tree[next]?.pid))
  return tree
}

/** Its share of memory: what it shares with n processes counts as an n-th (PSS). */
export function memoryKibOf({ pid }: ListedProcess): number {
  const [, kib] = /^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? '') ?? []
  return Number(kib ?? 0)
}

function entryOf(pid: number): readonly ListedProcess[] {
  const stat = Number.isInteger(pid) ? read(`/proc/${pid}/stat`) : undefined
  if (stat === undefined) return []
  // The name is in parentheses and may hold spaces and parentheses itself.
  const end = stat.lastIndexOf(')')
  const [state, parent] = stat.slice(end + 2).split(' ')
  if (state === 'Z' || state === 'X') return []
  return [{ pid, name: stat.slice(stat.indexOf('(') + 1, end), parent: Number(parent) }]
}

/** Undefined for what has ended, or is somebody else's. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
