import { run } from '../../run.ts'

/** What a file system has, in bytes. */
export interface Room {
  readonly totalBytes: number
  readonly freeBytes: number
}

/** Longer than anybody waits for a look. */
const GIVEN_UP_MS = 60_000

/**
 * The room of the file system that has the folder. A program looks, which can be ended: if a file system of a network is
 * silent, a look of this process would bind one of the four threads that do all its work with files.
 */
export async function roomOf(folder: string, signal: AbortSignal): Promise<Room> {
  const args = ['--file-system', '--format=%S %b %a', '--', folder]
  const { stdout } = await run('stat', args, { timeoutMs: GIVEN_UP_MS, signal })
  const [blockBytes, blocks, available] = stdout.trim().split(' ').map(Number)
  return { totalBytes: blockBytes! * blocks!, freeBytes: blockBytes! * available! }
}
