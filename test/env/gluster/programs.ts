import { cp, mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { programsDirectory } from '#deploy/paths.ts'
import { findProgram, programPath } from '#deploy/process/find-program.ts'
import type { RunOptions, RunResult } from '#drivers/run.ts'

const STEP_MS = 20_000
const LOGS = '/var/log/glusterfs'
const PROGRAMS = ['gluster', 'glusterd', 'glusterfs', 'glusterfsd', 'mount.glusterfs']
const LIBRARIES = process.arch === 'arm64' ? 'lib/aarch64-linux-gnu' : 'lib/x86_64-linux-gnu'

/** A host or a server with a mount namespace of its own. */
interface Inside {
  run(command: string, args: readonly string[], options: RunOptions): Promise<RunResult>
}

/** True where Debian's GlusterFS is unpacked or installed. */
export function isGlusterHere(): boolean {
  return PROGRAMS.every((name) => programPath(name) !== undefined)
}

/**
 * Afterwards the programs of GlusterFS are where its packages have them, and have a folder for their logs, inside. They look
 * for their parts, and `mount` for its helper, at these places alone, so unpacked ones are laid over the folder of the system.
 * `scratch`: a folder of files for the time that the namespace is there.
 */
export async function giveGlusterPrograms(inside: Inside, scratch: string): Promise<void> {
  const step = (command: string, ...args: readonly string[]) =>
    inside.run(command, args, { timeoutMs: STEP_MS })
  await step('mkdir', '-p', LOGS)
  await step('mount', '-t', 'tmpfs', 'weir-gluster', LOGS)
  if (!findProgram('glusterfsd').startsWith(programsDirectory)) return
  const over = await mkdtemp(join(scratch, 'usr-'))
  await mkdir(join(over, 'sbin'), { recursive: true })
  for (const name of PROGRAMS)
    await cp(findProgram(name), join(over, 'sbin', name), { verbatimSymlinks: true })
  const parts = join(LIBRARIES, 'glusterfs')
  await cp(join(programsDirectory, 'usr', parts), join(over, parts), {
    recursive: true,
    verbatimSymlinks: true,
  })
  await step('mount', '-t', 'overlay', 'weir-gluster', '-o', `lowerdir=${over}:/usr`, '/usr')
}
