import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { run } from '#drivers/run.ts'

const FUSE = '/dev/fuse'
/** The kernel sends the first request of the file system, and no program reads and answers it. */
const MOUNT = `
exec 3<>${FUSE}
mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 silent "$1"
echo mounted
exec sleep infinity`

/** Why no folder can be made silent here; undefined: it can. */
export function whyNotSilent(): string | undefined {
  if (process.getuid?.() !== 0) return 'not root'
  return existsSync(FUSE) ? undefined : `no ${FUSE}`
}

/**
 * Afterwards nothing that is asked of the folder is answered, as of a network's file system whose server is away, until this
 * is disposed of: then what was asked fails, and the folder is as it was.
 */
export async function silenceFolder(path: string): Promise<AsyncDisposable> {
  const args = ['--pdeathsig', 'KILL', '--', 'bash', '-e', '-c', MOUNT, 'bash', path]
  const child = spawn('setpriv', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const said = await Promise.race([once(child.stdout, 'data'), ended])
  if (String(said[0]).trim() !== 'mounted') throw new Error(`${path} could not be made silent`)
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      await run('umount', ['--lazy', path], { timeoutMs: 10_000 })
    },
  }
}
