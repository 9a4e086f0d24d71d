import { open } from 'node:fs/promises'
import { ifAbsent } from '#common/if-absent.ts'
import type { ConsoleLog } from '../consoles.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { filesOf, type LibvirtHost } from './host.ts'

/** virtlogd moves a full log here and starts a new one. */
const ROTATED = '.0'

/**
 * Reads what virtlogd wrote. The file lies in the state directory, which the daemon's mount namespace shares with
 * the compute process, so no stream through the daemon is needed and the log of a stopped guest stays readable.
 */
export function libvirtConsoleLog(host: LibvirtHost): ConsoleLog {
  return {
    async read(id, maxBytes, signal) {
      await getOwnDomain(host.domains, host.owner, id, signal)
      const { consoleLog } = filesOf(host, id)
      const newest = await tailOf(consoleLog, maxBytes)
      if (newest.length === maxBytes) return newest
      const older = await tailOf(`${consoleLog}${ROTATED}`, maxBytes - newest.length)
      return Buffer.concat([older, newest])
    },
  }
}

/** The last `maxBytes` of a file; empty when there is none. */
async function tailOf(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path, 'r').catch(ifAbsent(undefined))
  if (file === undefined) return Buffer.alloc(0)
  try {
    const { size } = await file.stat()
    const length = Math.min(size, maxBytes)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
