import { waitFor } from '#common/wait-for.ts'
import { isRunning, type ProcessIdentity, processIdentity } from './process-identity.ts'
import { processTree } from './process-tree.ts'

const KILL_WAIT_MS = 5_000

/**
 * Afterwards the process does not run. It gets SIGTERM, and is killed after `graceMs`. A process that merely has the
 * same pid is not touched.
 */
export async function stopProcess(identity: ProcessIdentity, graceMs = 10_000): Promise<void> {
  if (!signal(identity, 'SIGTERM')) return
  try {
    await waitFor(`process ${identity.pid} to end`, () => !isRunning(identity), graceMs)
  } catch {
    signal(identity, 'SIGKILL')
    await waitFor(`process ${identity.pid} to die`, () => !isRunning(identity), KILL_WAIT_MS)
  }
}

/** Afterwards neither the process runs nor anything of its group, which it leads. They are killed. */
export async function stopGroup(leader: ProcessIdentity): Promise<void> {
  if (!isRunning(leader)) return
  const group = processTree(leader.pid).flatMap(({ pid }) => processIdentity(pid) ?? [])
  process.kill(-leader.pid, 'SIGKILL')
  await waitFor(`process ${leader.pid} to die`, () => !group.some(isRunning), KILL_WAIT_MS)
}

function signal(identity: ProcessIdentity, name: NodeJS.Signals): boolean {
  if (!isRunning(identity)) return false
  try {
    return process.kill(identity.pid, name)
  } catch {
    return false
  }
}
