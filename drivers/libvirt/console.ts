import { open } from 'node:fs/promises'
import { connect } from 'node:net'
import { Duplex } from 'node:stream'
import { Failure } from '#common/errors.ts'
import { ifAbsent } from '#common/if-absent.ts'
import { abortable } from '../abortable.ts'
import type { Console, ConsoleLog } from '../consoles.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { powerStateOf } from './domains/power-state.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import { openSerialConsole } from './rpc/serial-console.ts'

/** The serial port through the daemon, the screen through the socket that QEMU serves on. */
export function libvirtConsole(host: LibvirtHost): Console {
  return {
    async open(id, kind, signal) {
      const domain = await getOwnDomain(host.domains, host.owner, id, signal)
      const state = powerStateOf(await host.domains.state(domain, signal))
      if (state !== 'running' && state !== 'paused')
        throw new Failure('conflict', `Instance ${id} is not running.`)
      if (kind === 'serial') return openSerialConsole(host.address, domain, signal)
      return openScreen(filesOf(host, id).vncSocket, signal)
    },
  }
}

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

/**
 * The screen that QEMU serves on a socket. It ends with its guest, also where QEMU went with something unread, which
 * a socket tells as an error. Throws `unsupported` when nothing is served there.
 */
async function openScreen(path: string, signal: AbortSignal): Promise<Duplex> {
  const socket = connect({ path })
  try {
    const connected = new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject)
    })
    await abortable(connected, signal)
  } catch (cause) {
    socket.destroy()
    signal.throwIfAborted()
    throw new Failure('unsupported', 'The instance has no screen that can be reached.', { cause })
  }
  const screen = new Duplex({
    read: () => void socket.resume(),
    write: (chunk, _encoding, done) => void socket.write(chunk, () => done()),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (chunk) => {
    if (!screen.push(chunk)) socket.pause()
  })
  socket.once('error', () => socket.destroy()).once('close', () => screen.push(null))
  return screen
}
