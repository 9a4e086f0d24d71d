import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Uptime } from '../uptime.ts'

const run = promisify(execFile)

/** Of the machine that the compute process is on: a host is driven from where its guests' files are. */
export const libvirtUptime: Uptime = {
  async read(signal) {
    const { stdout } = await run('env', ['LC_ALL=C', 'uptime'], { signal })
    return stdout
  },
}
